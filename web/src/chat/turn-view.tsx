import { type ComponentProps, lazy, Suspense } from 'react'
import type { Json } from '../../../src/protocol/messages.ts'
import { CardFrame } from '../components/card.tsx'
import { Notice, RawOnError } from '../components/feedback.tsx'
import type { IconName } from '../components/icon.tsx'
import { Fold } from '../components/layout.tsx'
import { Markdown } from '../components/markdown.tsx'
import { Link } from '../shell/router.tsx'
import { formatList, formatUsd } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { Approval } from './approval.tsx'
import { ChoiceList } from './choices.tsx'
import { readBuildId, type ToolPart, type TurnItem, type TurnPart } from './conversation.ts'
import { type Asked, RetryButton, TurnActions } from './message-actions.tsx'
import { ResultFiles } from './result-files.tsx'

/** The memories that were recalled for a turn. */
function Recalled({ memories }: { memories: readonly { id: string; text: string }[] }) {
  return (
    <div className="mb-2">
      <Fold icon="search" title={t.chat.usedMemories(memories.length)}>
        <ul className="space-y-1 text-sm">
          {memories.map(({ id, text }) => (
            <li key={id}>
              <Link href={`/memory/${id}`} className="text-soft underline-offset-2 hover:text-ink hover:underline">
                {text}
              </Link>
            </li>
          ))}
        </ul>
      </Fold>
    </div>
  )
}

/** Collapsed by default. While it runs, the last line is shown. */
function Thinking({ text, isNow }: { text: string; isNow: boolean }) {
  const lastLine = text.trimEnd().split('\n').at(-1) ?? ''
  return (
    <Fold icon="brain" title={isNow ? t.chat.thinking : t.chat.thought} detail={isNow ? lastLine : ''} isActive={isNow}>
      <p dir="auto" className="whitespace-pre-wrap text-sm text-soft">
        {text}
      </p>
    </Fold>
  )
}

// Loaded on demand: few conversations build a tool.
const BuildFold = lazy(async () => ({
  default: (await import('../tools/builds.tsx')).BuildFold,
}))

// Loaded when the first call is opened.
const ToolDetails = lazy(async () => {
  try {
    return { default: (await import('./tool-results.tsx')).ToolDetails }
  } catch {
    // A newer Familiar has replaced the file: the plain call can be read as well.
    return { default: ({ raw }: ComponentProps<typeof import('./tool-results.tsx').ToolDetails>) => <>{raw(false)}</> }
  }
})

/** They take a while, and are worth looking at meanwhile. */
const opensWhileRunning = new Set(['exec', 'sessions_spawn'])

/** Common tools have a title of their own; others show their name. */
const icons: Record<keyof typeof t.toolTitles, IconName> = {
  web_search: 'search',
  web_fetch: 'eye',
  recall_memory: 'brain',
  memory_query: 'brain',
  memory_get: 'brain',
  store_memory: 'brain',
  find_tools: 'tool',
  lookup_capability: 'tool',
  ask_user: 'talk',
  reason: 'brain',
  request_capability: 'bolt',
  repair_capability: 'bolt',
  exec: 'bolt',
  run_skill_script: 'bolt',
  generate_image: 'eye',
  sessions_spawn: 'fork',
  schedule_message: 'calendar',
}

function hasTitle(name: string): name is keyof typeof icons {
  return Object.hasOwn(icons, name)
}

function titleOf({ name, result }: ToolPart): { title: string; icon: IconName } {
  if (!hasTitle(name)) return { title: name.replace(/^cap_/, '').replaceAll('_', ' '), icon: 'tool' }
  const { running, done } = t.toolTitles[name]
  const title = result === undefined ? running : done
  return { title, icon: icons[name] }
}

/** A tool call: one line that expands to its input and result. */
export function ToolView(props: { tool: ToolPart; sessionId: string | null; startsOpen?: boolean }) {
  const { tool, sessionId, startsOpen = false } = props
  // It was not made: after the approval it is made by a later call.
  if (tool.approval) return <Approval approval={tool.approval} />
  const { title, icon } = titleOf(tool)
  const isRunning = tool.result === undefined
  // A build continues after the call that started it.
  const build = readBuildId(tool)
  return (
    <div className="space-y-2">
      {build === undefined ? (
        <Fold
          icon={icon}
          title={title}
          // The question stands below it.
          detail={tool.name === 'ask_user' ? '' : (isRunning && newest(tool.progress)) || summary(tool.input)}
          isActive={isRunning}
          isBad={tool.result?.isError === true}
          startsOpen={startsOpen}
          opensWhileActive={opensWhileRunning.has(tool.name)}
        >
          <Suspense fallback={<p className="breathing text-sm text-soft">{t.common.loading}</p>}>
            <ToolDetails
              tool={tool}
              sessionId={sessionId}
              raw={(isAside) => <RawCall tool={tool} isAside={isAside} />}
            />
          </Suspense>
        </Fold>
      ) : (
        <Suspense fallback={<p className="breathing text-sm text-soft">{t.common.loading}</p>}>
          <BuildFold id={build} icon={icon} title={title}>
            <RawCall tool={tool} isAside />
          </BuildFold>
        </Suspense>
      )}
      {tool.card && sessionId && <CardFrame card={tool.card} callId={tool.callId} sessionId={sessionId} />}
      {sessionId && tool.media && <ResultFiles media={tool.media} sessionId={sessionId} />}
    </div>
  )
}

/** The raw input and result. Collapsed when the tool has a view of its own. */
function RawCall({ tool, isAside }: { tool: ToolPart; isAside: boolean }) {
  const details = (
    <dl className="space-y-2 text-sm">
      {tool.input !== null && <Detail name={t.chat.input}>{pretty(tool.input)}</Detail>}
      {tool.progress.length > 0 && <Detail name={t.chat.progress}>{tool.progress.map(pretty).join('\n')}</Detail>}
      {tool.result && <Detail name={tool.result.isError ? t.common.failed : t.chat.result}>{tool.result.text}</Detail>}
    </dl>
  )
  if (!isAside) return details
  return (
    <details className="mt-3 text-xs text-soft">
      <summary className="min-h-7 py-1">{t.chat.details}</summary>
      {details}
    </details>
  )
}

function Detail({ name, children }: { name: string; children: string }) {
  return (
    <div>
      <dt className="text-xs font-medium text-soft">{name}</dt>
      <dd>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
        <pre tabIndex={0} className="max-h-80 overflow-auto whitespace-pre-wrap font-mono text-xs leading-relaxed">
          {children}
        </pre>
      </dd>
    </div>
  )
}

function newest(progress: readonly Json[]): string {
  const last = progress.at(-1)
  return last === undefined ? '' : summary(last)
}

/** The first thing in it that says something. */
function summary(value: Json): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return formatList(value.map(summary))
  if (value !== null && typeof value === 'object') return Object.values(value).map(summary).filter(Boolean).join(' · ')
  return value === null ? '' : String(value)
}

function pretty(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

const outcomes: Partial<Record<NonNullable<TurnItem['outcome']>, string>> = {
  stopped: t.common.stopped,
  round_limit: t.chat.stoppedTooManySteps,
  repeated_failure: t.chat.stoppedSameStepKept,
  budget: t.chat.spendingLimitReachedChange,
  failed: t.chat.modelFailed,
}

/** One turn: reasoning, tool calls and text in order. */
export function TurnView(props: {
  turn: TurnItem
  sessionId: string | null
  isNewest: boolean
  asked: Asked | undefined
}) {
  const { turn, sessionId, isNewest, asked } = props
  const isRunning = turn.outcome === undefined
  const ended = turn.outcome && outcomes[turn.outcome]
  return (
    <article aria-label={t.common.familiar} className="group" aria-busy={isRunning} data-newest={isNewest || undefined}>
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
            {turn.parts.at(-1)?.kind === 'tool' ? t.chat.working : t.chat.thinkingOngoing}
          </p>
        )}
        {turn.choices && turn.deliver && <ChoiceList choices={turn.choices} />}
        {ended && (
          <Notice kind={turn.outcome === 'stopped' ? 'note' : 'warning'}>
            <div className="flex flex-wrap items-center justify-between gap-2">
              <span>{ended}</span>
              {turn.outcome !== 'stopped' && <RetryButton asked={asked} />}
            </div>
          </Notice>
        )}
      </div>
      {!isRunning && (
        <TurnActions turn={turn} asked={asked}>
          <span>{turn.model}</span>
          <span>{costOf(turn)}</span>
          {turn.reaction && <span>{turn.reaction}</span>}
          {sessionId !== null && <Link href={`/monitor/turn/${sessionId}/${turn.id}`}>{t.common.timeline}</Link>}
        </TurnActions>
      )}
    </article>
  )
}

function costOf({ costUsd, isEstimate }: TurnItem): string {
  if (costUsd === null) return t.common.noPrice
  if (costUsd === 0) return ''
  const cost = formatUsd(costUsd, 4)
  return isEstimate ? t.cost.aboutEstimated(cost) : cost
}

function PartView(props: { part: TurnPart; isNewest: boolean; isSilent: boolean; sessionId: string | null }) {
  const { part, isNewest, isSilent, sessionId } = props
  switch (part.kind) {
    case 'text':
      return isSilent ? (
        <p className="text-xs text-soft">{t.chat.noReply}</p>
      ) : (
        <Markdown text={part.text} isGrowing={isNewest} />
      )
    case 'said':
      return <Markdown text={part.text} />
    case 'thinking':
      return <Thinking text={part.text} isNow={isNewest} />
    case 'retry':
      return (
        <p className="text-sm text-warn" role="status">
          {t.chat.retryingInS(part.reason, Math.ceil(part.waitMs / 1_000))}
        </p>
      )
    case 'tool':
      return (
        <RawOnError raw={part.card?.text ?? part.name}>
          <ToolView tool={part} sessionId={sessionId} />
        </RawOnError>
      )
  }
}
