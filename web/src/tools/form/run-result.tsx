import type { Card } from '../../../../src/protocol/card.ts'
import type { ToolRunReply } from '../../../../src/protocol/tool-api.ts'
import { Badge } from '../../components/badge.tsx'
import { Notice } from '../../components/notice.tsx'
import { duration } from '../../components/when.tsx'
import { outcomeNames } from '../outcome-names.ts'
import { OutputText } from '../output-text.tsx'
import { RunCard } from './run-card.tsx'

interface RunOutcome {
  text: string | null
  card: Card | null
  error: string | null
  outcome: ToolRunReply['outcome']
  duration_ms: number
  driver: string | null
  log: string
  notes?: readonly string[]
}

/** What came of a run by hand: what the user would see, and how it went. */
export function RunResult({ result }: { result: RunOutcome }) {
  const { text, card, error, outcome, duration_ms, driver, log, notes = [] } = result
  return (
    <section aria-label="Result" aria-live="polite" className="mt-5 space-y-3">
      <p className="flex flex-wrap items-center gap-2 text-sm text-soft">
        <Badge kind={outcome === 'succeeded' ? 'good' : 'bad'}>{outcomeNames[outcome]}</Badge>
        <span>{duration(duration_ms)}</span>
        <span>{driver === null ? 'It did not run.' : `in the sandbox “${driver}”`}</span>
      </p>
      {error && <Notice kind="error">{error}</Notice>}
      {notes.map((note) => (
        <Notice key={note}>{note}</Notice>
      ))}
      {card && <RunCard card={card} />}
      {text && <OutputText title="Answer" text={text} />}
      {log && <OutputText title="What it printed" text={log} />}
    </section>
  )
}
