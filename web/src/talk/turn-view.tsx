import { CopyButton } from '../components/copy-button.tsx'
import { Markdown } from '../components/markdown.tsx'
import { Notice } from '../components/notice.tsx'
import { Link } from '../shell/link.tsx'
import { ReadAloud } from '../voice/read-aloud.tsx'
import type { TurnItem, TurnPart } from './conversation.ts'
import { Recalled } from './recalled.tsx'
import { Thinking } from './thinking.tsx'
import { ToolView } from './tool-view.tsx'

const outcomes: Partial<Record<NonNullable<TurnItem['outcome']>, string>> = {
  stopped: 'You stopped it here.',
  round_limit: 'It stopped: too many steps for one message.',
  repeated_failure: 'It stopped: the same thing failed again and again.',
  budget: 'It stopped: the limit on what may be spent is reached. Settings and familiar.toml hold it.',
  failed: 'The model could not be reached, or failed. What you said is kept; say “go on” to try again.',
}

/** One turn of Familiar: what it thought, did and said, in its order, while it happens and ever after. */
export function TurnView({ turn, sessionId }: { turn: TurnItem; sessionId: string | null }) {
  const isRunning = turn.outcome === undefined
  const spoken = turn.parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n\n')
  const ended = turn.outcome && outcomes[turn.outcome]
  return (
    <article aria-label="Familiar" className="group" aria-busy={isRunning}>
      {turn.memories.length > 0 && <Recalled memories={turn.memories} />}
      <div className="space-y-3">
        {turn.parts.map((part, index) => (
          <PartView
            // biome-ignore lint/suspicious/noArrayIndexKey: parts only grow at the end.
            key={index}
            part={part}
            isNewest={isRunning && index === turn.parts.length - 1}
            sessionId={sessionId}
            isSilent={!turn.deliver}
          />
        ))}
        {isRunning && turn.parts.at(-1)?.kind !== 'text' && (
          <p className="breathing text-sm text-soft" role="status">
            {turn.parts.at(-1)?.kind === 'tool' ? 'Working …' : 'Thinking …'}
          </p>
        )}
        {ended && <Notice kind={turn.outcome === 'stopped' ? 'note' : 'warning'}>{ended}</Notice>}
      </div>
      {!isRunning && (
        <footer className="mt-1 flex min-h-7 items-center gap-2 text-xs text-soft opacity-0 transition-opacity group-focus-within:opacity-100 group-hover:opacity-100">
          {spoken !== '' && <CopyButton text={spoken} />}
          {spoken !== '' && <ReadAloud id={turn.id} text={spoken} />}
          <span>{turn.model}</span>
          <span>{turn.costUsd === null ? 'unpriced' : turn.costUsd > 0 ? `$${turn.costUsd.toFixed(4)}` : ''}</span>
          {turn.reaction && <span>{turn.reaction}</span>}
          {sessionId !== null && <Link href={`/monitor/turn/${sessionId}/${turn.id}`}>Timeline</Link>}
        </footer>
      )}
    </article>
  )
}

function PartView(props: { part: TurnPart; isNewest: boolean; isSilent: boolean; sessionId: string | null }) {
  const { part, isNewest, isSilent, sessionId } = props
  switch (part.kind) {
    case 'text':
      return isSilent ? <p className="text-xs text-soft">(It had nothing to say.)</p> : <Markdown text={part.text} />
    case 'said':
      return <Markdown text={part.text} />
    case 'thinking':
      return <Thinking text={part.text} isNow={isNewest} />
    case 'retry':
      return (
        <p className="text-sm text-warn" role="status">
          {part.reason}. Trying again in {Math.ceil(part.waitMs / 1_000)} s.
        </p>
      )
    case 'tool':
      return <ToolView tool={part} sessionId={sessionId} />
  }
}
