import { useState } from 'react'
import type { AssetsReply, PinsReply } from '../../../src/protocol/asset-api.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Button } from '../components/button.tsx'
import { Icon } from '../components/icon.tsx'
import { Failure } from '../components/notice.tsx'
import { Screen, Section } from '../components/screen.tsx'
import { partBehind } from '../shell/path-part.ts'
import { usePlace } from '../shell/router.ts'
import { useWho } from '../shell/who.ts'
import { labelOf } from './block-label.ts'
import { BlockList } from './block-list.tsx'
import { BlockScreen } from './block-screen.tsx'
import { BudgetBar } from './budget-bar.tsx'
import { NewBlockDialog } from './new-block-dialog.tsx'
import { PinList } from './pin-list.tsx'

/** `/blocks`, and `/blocks/<label>` for one of them. */
export function BlocksScreen() {
  const { path } = usePlace()
  const label = partBehind(path)
  return label === undefined ? <AllBlocks /> : <BlockScreen key={label} label={label} />
}

function AllBlocks() {
  const canWrite = useWho().scope === 'owner'
  const blocks = useAnswer<AssetsReply>('/blocks')
  const pins = useAnswer<PinsReply>('/pins')
  const [isNew, setIsNew] = useState(false)
  const error = blocks.error ?? pins.error

  function refresh(): void {
    blocks.refresh()
    pins.refresh()
  }

  return (
    <Screen
      title="Blocks"
      intro="Texts that you and Familiar keep together. What is pinned stands in every prompt, in this order; the others are read when they are needed, or when you name them with @@."
      actions={
        canWrite && (
          <Button kind="main" onClick={() => setIsNew(true)}>
            <Icon name="plus" size={16} /> New block
          </Button>
        )
      }
    >
      {error && <Failure error={error} onRetry={refresh} />}
      {pins.data && (
        <Section title="In every prompt">
          <BudgetBar used={pins.data.tokens} budget={pins.data.budget} />
          <PinList
            pinned={pins.data}
            known={blocks.data?.entries.map(({ path }) => labelOf(path))}
            onOrder={pins.put}
            onChanged={pins.refresh}
          />
        </Section>
      )}
      {blocks.data && (
        <Section title="All blocks">
          <BlockList
            entries={blocks.data.entries}
            isCut={blocks.data.is_cut}
            pinned={pins.data?.pins.map(({ label }) => label) ?? []}
            onChanged={pins.refresh}
          />
        </Section>
      )}
      {isNew && <NewBlockDialog onClose={() => setIsNew(false)} />}
    </Screen>
  )
}
