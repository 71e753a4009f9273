import { useState } from 'react'
import type { ChangeReply } from '../../../src/protocol/memory-api.ts'
import { Button } from '../components/button.tsx'
import { Icon } from '../components/icon.tsx'
import { Section } from '../components/screen.tsx'
import { formatDay, formatMoment } from './times.ts'
import { useCorrections } from './use-corrections.ts'
import { shownContent } from './words.ts'

/** What was changed or forgotten, with a way back. */
export function ChangeList({ changes, onUndone }: { changes: readonly ChangeReply[]; onUndone(): void }) {
  const { undo } = useCorrections()
  const [busy, setBusy] = useState<string>()

  async function takeBack(id: string): Promise<void> {
    setBusy(id)
    if (await undo(id)) onUndone()
    setBusy(undefined)
  }

  return (
    <Section title="Changes">
      <ul>
        {changes.map(({ id, action, made_by, at, undo_until, before }) => (
          <li key={id} className="flex items-start gap-3 border-b border-line py-2.5 last:border-b-0">
            <div className="min-w-0 flex-1">
              <p className="line-clamp-2">{before.title ?? shownContent(before)}</p>
              <p className="text-xs text-soft">
                {action === 'forgotten' ? 'Forgotten' : 'Changed'} by {made_by === 'user' ? 'you' : 'Familiar'},{' '}
                {formatMoment(at)}. Can be undone until {formatDay(undo_until)}.
              </p>
            </div>
            <Button
              size="small"
              isBusy={busy === id}
              aria-label={`Undo: ${before.title ?? before.content.slice(0, 60)}`}
              onClick={() => void takeBack(id)}
            >
              <Icon name="undo" size={14} /> Undo
            </Button>
          </li>
        ))}
      </ul>
    </Section>
  )
}
