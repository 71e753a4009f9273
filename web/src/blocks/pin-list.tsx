import { type DragEvent, useState } from 'react'
import type { PinReply, PinsReply } from '../../../src/protocol/asset-api.ts'
import { ask } from '../api/ask.ts'
import { IconButton } from '../components/button.tsx'
import { classes } from '../components/classes.ts'
import { Icon } from '../components/icon.tsx'
import { useToasts } from '../components/toast.tsx'
import { Link } from '../shell/link.tsx'
import { useWho } from '../shell/who.ts'
import { placeOf } from './block-label.ts'
import { movePin } from './move-pin.ts'

/** The pinned blocks in the order of the prompt: dragged, or moved by their buttons. */
export function PinList(props: {
  pinned: PinsReply
  /** Undefined while nobody knows. */
  known: readonly string[] | undefined
  onOrder(pinned: PinsReply): void
  onChanged(): void
}) {
  const { pinned, known, onOrder, onChanged } = props
  const { pins } = pinned
  const toasts = useToasts()
  const canWrite = useWho().scope === 'owner'
  const [dragged, setDragged] = useState<string>()
  const [said, setSaid] = useState('')

  async function move(label: string, position: number): Promise<void> {
    if (position < 1 || position > pins.length) return
    onOrder(movePin(pinned, label, position))
    setSaid(`${label} is number ${position} of ${pins.length} now.`)
    await ask('/pins', { body: { label, position } }).catch(toasts.failed)
    onChanged()
  }

  async function unpin({ label, position }: PinReply): Promise<void> {
    try {
      await ask('/pins', { method: 'DELETE', query: { label } })
      toasts.done(`${label} is no longer in the prompt.`, {
        label: 'Undo',
        run: () => void ask('/pins', { body: { label, position } }).then(onChanged, toasts.failed),
      })
      onChanged()
    } catch (error) {
      toasts.failed(error)
    }
  }

  function onDrop(event: DragEvent, target: PinReply): void {
    event.preventDefault()
    if (dragged !== undefined && dragged !== target.label) void move(dragged, target.position)
    setDragged(undefined)
  }

  if (pins.length === 0) {
    return (
      <p className="text-sm text-soft">Nothing is pinned. Pin a block below, and Familiar always has it before it.</p>
    )
  }
  return (
    <>
      <ol className="space-y-1.5">
        {pins.map((pin) => (
          <li
            key={pin.label}
            draggable={canWrite}
            onDragStart={(event) => {
              event.dataTransfer.effectAllowed = 'move'
              event.dataTransfer.setData('text/plain', pin.label)
              setDragged(pin.label)
            }}
            onDragEnd={() => setDragged(undefined)}
            onDragOver={(event) => event.preventDefault()}
            onDrop={(event) => onDrop(event, pin)}
            className={classes(
              'flex items-center gap-1 rounded-xl border bg-raised py-1 ps-3 pe-1',
              canWrite && 'cursor-grab',
              dragged === pin.label ? 'border-accent opacity-60' : 'border-line',
            )}
          >
            <span className="w-6 shrink-0 text-sm text-soft tabular-nums">{pin.position}.</span>
            <div className="min-w-0 flex-1">
              <Link href={placeOf(pin.label)} draggable={false} className="font-medium hover:underline">
                {pin.label}
              </Link>
              <span className="ms-2 text-xs whitespace-nowrap text-soft">{pin.tokens.toLocaleString()} tokens</span>
              {known && !known.includes(pin.label) && <span className="ms-2 text-xs text-warn">deleted</span>}
              {pin.trust === 'untrusted' && <span className="ms-2 text-xs text-warn">holds words of others</span>}
            </div>
            {canWrite && (
              <>
                {/* Not disabled at the ends, where the focus would be lost. */}
                <IconButton
                  label={`Move ${pin.label} up`}
                  aria-disabled={pin.position === 1}
                  className="aria-disabled:opacity-40"
                  onClick={() => void move(pin.label, pin.position - 1)}
                >
                  <Icon name="arrow_up" size={16} />
                </IconButton>
                <IconButton
                  label={`Move ${pin.label} down`}
                  aria-disabled={pin.position === pins.length}
                  className="aria-disabled:opacity-40"
                  onClick={() => void move(pin.label, pin.position + 1)}
                >
                  <Icon name="arrow_down" size={16} />
                </IconButton>
                <IconButton label={`Unpin ${pin.label} from the prompt`} onClick={() => void unpin(pin)}>
                  <Icon name="close" size={16} />
                </IconButton>
              </>
            )}
          </li>
        ))}
      </ol>
      <p role="status" className="sr-only">
        {said}
      </p>
    </>
  )
}
