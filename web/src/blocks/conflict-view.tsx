import { Button } from '../components/button.tsx'
import { DiffView } from './diff-view.tsx'
import type { Block } from './use-block.ts'

/** Two wrote at once: both texts, and what to do. Whatever is chosen, the other one can be had again. */
export function ConflictView(props: {
  mine: string
  theirs: Block
  isBusy: boolean
  onKeepMine(): void
  onTakeTheirs(): void
}) {
  const { mine, theirs, isBusy, onKeepMine, onTakeTheirs } = props
  return (
    <section aria-label="Written by two at once" className="rounded-xl border border-warn bg-warn-soft p-4">
      <p role="alert" className="font-medium">
        Somebody else has saved version {theirs.version} while you were writing. Nothing of either is lost.
      </p>
      <p className="mt-1 mb-3 text-sm">
        This is how yours differs from theirs. You can go on typing below, for instance to take over what is theirs, and
        then save yours. Theirs stays as version {theirs.version}.
      </p>
      <DiffView label="From theirs to yours" before={theirs.content} after={mine} />
      <div className="mt-3 flex flex-wrap gap-2">
        <Button kind="main" isBusy={isBusy} onClick={onKeepMine}>
          Save mine over it
        </Button>
        <Button onClick={onTakeTheirs}>Take theirs</Button>
      </div>
    </section>
  )
}
