import { lazy, Suspense } from 'react'
import type { Json } from '../../../src/protocol/json.ts'
import { Fold } from '../components/fold.tsx'
import type { IconName } from '../components/icon.tsx'
import { Approval } from './approval.tsx'
import { CardFrame } from './card-frame.tsx'
import type { ToolPart } from './conversation.ts'
import { MediaView } from './media-view.tsx'
import { overlayOf } from './overlays/overlays.ts'
import { readBuildId } from './overlays/read-build-id.ts'

// Few conversations build something: what shows it is fetched when one does.
const BuildFold = lazy(async () => ({
  default: (await import('../capabilities/builds/build-fold.tsx')).BuildFold,
}))

/** What the common tools are called in the page; the others under their own names. */
const titles = new Map<string, { title: string; icon: IconName }>(
  Object.entries({
    web_search: { title: 'Searched the web', icon: 'search' },
    web_fetch: { title: 'Read a page', icon: 'eye' },
    recall_memory: { title: 'Looked in memory', icon: 'brain' },
    memory_query: { title: 'Looked in memory', icon: 'brain' },
    store_memory: { title: 'Remembered', icon: 'brain' },
    find_tools: { title: 'Looked for a tool', icon: 'tool' },
    reason: { title: 'Thought it through', icon: 'brain' },
    request_capability: { title: 'Building a tool', icon: 'bolt' },
    repair_capability: { title: 'Mending a tool', icon: 'bolt' },
    lookup_capability: { title: 'Looked for a tool', icon: 'tool' },
    memory_get: { title: 'Looked in memory', icon: 'brain' },
    exec: { title: 'Ran a command', icon: 'bolt' },
    sessions_spawn: { title: 'Working on it aside', icon: 'fork' },
    schedule_message: { title: 'Planned', icon: 'calendar' },
  }),
)

/** A call of a tool: one line while it runs and after, which unfolds to what went in and what came out. */
export function ToolView({ tool, sessionId }: { tool: ToolPart; sessionId: string | null }) {
  const { title, icon } = titles.get(tool.name) ?? {
    title: tool.name.replace(/^cap_/, '').replaceAll('_', ' '),
    icon: 'tool',
  }
  const isRunning = tool.result === undefined
  const known = overlayOf(tool.name)
  // What a call began may go on when the call has long ended.
  const build = readBuildId(tool)
  const overlay = known?.show({ tool, sessionId }) ?? null
  return (
    <div className="space-y-2">
      {build === undefined ? (
        <Fold
          icon={icon}
          title={title}
          detail={isRunning ? newest(tool.progress) || summary(tool.input) : summary(tool.input)}
          isActive={isRunning}
          isBad={tool.result?.isError === true && !tool.approval}
          opensWhileActive={known?.opensWhileRunning === true}
        >
          {overlay}
          <RawCall tool={tool} isAside={overlay !== null} />
        </Fold>
      ) : (
        <Suspense fallback={<p className="breathing text-sm text-soft">One moment …</p>}>
          <BuildFold id={build} icon={icon} title={title}>
            <RawCall tool={tool} isAside />
          </BuildFold>
        </Suspense>
      )}
      {tool.approval && <Approval approval={tool.approval} />}
      {tool.card && sessionId && <CardFrame card={tool.card} callId={tool.callId} sessionId={sessionId} />}
      {sessionId && tool.media?.map((part) => <MediaView key={part.hash} part={part} sessionId={sessionId} />)}
    </div>
  )
}

/** What went in and what came out, as it was; beside an overlay only for whoever wants to know. */
function RawCall({ tool, isAside }: { tool: ToolPart; isAside: boolean }) {
  const details = (
    <dl className="space-y-2 text-sm">
      {tool.input !== null && <Detail name="Asked">{pretty(tool.input)}</Detail>}
      {tool.progress.length > 0 && <Detail name="On the way">{tool.progress.map(pretty).join('\n')}</Detail>}
      {tool.result && <Detail name={tool.result.isError ? 'Failed' : 'Answer'}>{tool.result.text}</Detail>}
    </dl>
  )
  if (!isAside) return details
  return (
    <details className="mt-3 text-xs text-soft">
      <summary className="min-h-7 py-1">As it was called</summary>
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
  if (Array.isArray(value)) return value.map(summary).join(', ')
  if (value !== null && typeof value === 'object') return Object.values(value).map(summary).filter(Boolean).join(' · ')
  return value === null ? '' : String(value)
}

function pretty(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}
