import { useId } from 'react'
import { Fold } from '../components/fold.tsx'
import { useWho } from '../shell/who.ts'
import { sharedText } from './carry-out.ts'
import { switchTo, useIsSwitchedOn } from './switch-state.ts'
import { useEntries } from './use-entries.ts'

/** The switch, what it means, and word for word what can leave. */
export function SwitchAndShared() {
  const { name } = useWho()
  const isOn = useIsSwitchedOn(name)
  const { entries = [] } = useEntries()
  const id = useId()
  const shared = entries.filter(({ isShared }) => isShared)
  return (
    <div className="space-y-3">
      <label htmlFor={id} className="flex min-h-11 items-center gap-3 font-medium">
        <input
          id={id}
          type="checkbox"
          className="size-5 accent-accent"
          checked={isOn}
          onChange={(event) => {
            switchTo(name, event.target.checked)
            // Otherwise the browser may clear it when the disk is full.
            if (event.target.checked) void navigator.storage?.persist?.()
          }}
        />
        Familiar may use it in the talk
      </label>
      <p className="text-sm text-soft">
        {isOn
          ? 'With each message Familiar is offered to save notes here, to delete notes that it saved itself, and to read those that you share. What it reads goes to the model and stays in that conversation. Nothing else leaves this browser.'
          : 'Nothing of it leaves this browser, and Familiar does not know that it is there.'}
      </p>
      {shared.length > 0 && (
        <Fold
          icon="eye"
          title={shared.length === 1 ? 'One entry is shared' : `${shared.length} entries are shared`}
          detail={isOn ? 'what Familiar can read' : 'once it is switched on'}
        >
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
          <pre tabIndex={0} className="max-h-72 overflow-auto whitespace-pre-wrap font-sans text-sm">
            {sharedText(entries)}
          </pre>
        </Fold>
      )}
      {shared.length === 0 && <p className="text-sm text-soft">You share no entry yet.</p>}
    </div>
  )
}
