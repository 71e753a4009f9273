import type { ReactNode } from 'react'
import type { SpawnReply } from '../../../src/protocol/commands.ts'
import { useAnswer } from '../api/call.ts'
import { CodeBlock } from '../components/code.tsx'
import { Badge, type BadgeKind } from '../components/controls.tsx'
import { FieldList } from '../components/layout.tsx'
import { Markdown, OutsideLink } from '../components/markdown.tsx'
import { Link } from '../shell/router.tsx'
import { formatList } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { OutputText, toolPath } from '../tools/tool-parts.tsx'
import type { ToolPart } from './conversation.ts'
import { inputText, readCommand, readFoundTools, readMemories, readPage, readSearchHits } from './read-results.ts'

interface OverlayProps {
  tool: ToolPart
  sessionId: string | null
}

/** How the calls of a tool are shown in place of what went in and came out. */
interface Overlay {
  /** Null where the result has another format or is missing: then the plain call is shown. */
  show(props: OverlayProps): ReactNode
}

function showCommand({ tool }: OverlayProps): ReactNode {
  const command = inputText(tool.input, 'command')
  if (command === '') return null
  const outcome = tool.result && readCommand(tool.result.text)
  return (
    <div className="space-y-2 text-sm">
      <CodeBlock code={command} language="bash" />
      {outcome?.output && <OutputText title={t.toolCalls.output} text={outcome.output} />}
      {outcome?.errors && <OutputText title={t.toolCalls.errorOutput} text={outcome.errors} />}
      {tool.result && (
        <p className={tool.result.isError ? 'text-bad' : 'text-soft'}>{outcome ? outcome.end : tool.result.text}</p>
      )}
    </div>
  )
}

function showFoundTools({ tool }: OverlayProps): ReactNode {
  const found = readFoundTools(tool.result?.text ?? '')
  if (found.length === 0) return null
  // Capabilities are named without what a model calls them by.
  const pathOf = (name: string) => toolPath(tool.name === 'lookup_capability' ? `cap_${name}` : name)
  return (
    <ul aria-label={t.common.tools} className="space-y-1.5 text-sm">
      {found.map(({ name, description }) => (
        <li key={name}>
          <Link href={pathOf(name)} className="font-medium underline-offset-2 hover:underline">
            {name}
          </Link>{' '}
          <span className="text-soft">{description}</span>
        </li>
      ))}
    </ul>
  )
}

function showMemories({ tool }: OverlayProps): ReactNode {
  const { count, memories } = readMemories(tool.result?.text ?? '')
  if (memories.length === 0) {
    return tool.result && !tool.result.isError ? (
      <p className="text-sm text-soft">{t.toolCalls.noMatchingMemories}</p>
    ) : null
  }
  return (
    <div className="space-y-2 text-sm">
      {count !== null && <p className="font-medium">{t.toolCalls.count(count)}</p>}
      <ul aria-label={t.toolCalls.memories} className="space-y-2">
        {memories.map(({ id, day, marks, text, isUntrusted }) => (
          <li key={id}>
            <Link
              href={`/memory/${id}`}
              dir="auto"
              className="block whitespace-pre-wrap underline-offset-2 hover:underline"
            >
              {text}
            </Link>
            <span className="text-xs text-soft">
              {[day, marks, isUntrusted && t.toolCalls.untrustedSource].filter(Boolean).join(' · ')}
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}

const shownCharacters = 600

function showPage({ tool }: OverlayProps): ReactNode {
  const page = readPage(tool.result?.text ?? '')
  if (!page) return null
  const { title, url, text } = page
  return (
    <div className="space-y-1 text-sm">
      <p className="prose font-medium">
        <OutsideLink href={url} text={title} />
      </p>
      <p dir="auto" className="whitespace-pre-wrap text-soft">
        {text.length > shownCharacters ? `${text.slice(0, shownCharacters).trimEnd()} …` : text}
      </p>
    </div>
  )
}

/** The thought is in the input of the call; it has no result. */
function showReason({ tool }: OverlayProps): ReactNode {
  const thought = inputText(tool.input, 'thought')
  if (thought === '') return null
  return (
    <div className="text-sm">
      <Markdown text={thought} />
    </div>
  )
}

function showSchedule({ tool }: OverlayProps): ReactNode {
  const message = inputText(tool.input, 'message')
  if (message === '' || tool.result?.isError) return null
  const next = /\(next ([^;)]+)/.exec(tool.result?.text ?? '')?.[1]
  return (
    <div className="space-y-2">
      <FieldList
        facts={[
          [t.common.message, message],
          [t.common.when, inputText(tool.input, 'at') || inputText(tool.input, 'cron')],
          [t.toolCalls.next, next],
        ]}
      />
      <Link href="/schedules" className="text-sm text-accent hover:underline">
        {t.toolCalls.allSchedules}
      </Link>
    </div>
  )
}

function showSearch({ tool }: OverlayProps): ReactNode {
  const hits = readSearchHits(tool.result?.text ?? '')
  if (hits.length === 0) return null
  return (
    <ol aria-label={t.toolCalls.searchResults} className="space-y-3 text-sm">
      {hits.map(({ title, url, snippet }) => (
        <li key={url}>
          <p className="prose font-medium">
            <OutsideLink href={url} text={title} />
          </p>
          <p className="text-soft">{snippet}</p>
        </li>
      ))}
    </ol>
  )
}

const states: Record<SpawnReply['state'], { name: string; kind: BadgeKind }> = {
  running: { name: t.common.running, kind: 'busy' },
  done: { name: t.common.done, kind: 'good' },
  failed: { name: t.common.failed, kind: 'bad' },
  stopped: { name: t.common.stopped, kind: 'plain' },
}

function showSpawn(props: OverlayProps): ReactNode {
  const task = inputText(props.tool.input, 'task').trim()
  return task === '' ? null : <SpawnView {...props} task={task} />
}

/** A sub-agent: its task, progress and result. */
function SpawnView({ tool, sessionId, task }: OverlayProps & { task: string }) {
  const isRunning = tool.result === undefined
  const { data } = useAnswer('spawns.list', sessionId === null ? null : { id: sessionId }, {
    ...(isRunning && { everyMs: 2_000 }),
  })
  // The task is the only link between a call and its sub-agent.
  const spawn = data?.spawns.findLast((one) => one.task === task)
  const answer = spawn?.result?.text ?? (isRunning ? undefined : tool.result?.text)
  return (
    <div className="space-y-2 text-sm">
      <p className="flex flex-wrap items-center gap-2">
        {spawn && <Badge kind={states[spawn.state].kind}>{states[spawn.state].name}</Badge>}
        {spawn?.doing && (
          <span className="text-soft">
            {t.toolCalls.step(spawn.doing.round)}
            {spawn.doing.tools.length > 0 && `, ${formatList(spawn.doing.tools)}`}
          </span>
        )}
      </p>
      <p dir="auto" className="whitespace-pre-wrap text-soft">
        {task}
      </p>
      {answer && <Markdown text={answer} />}
    </div>
  )
}

/** By the names of tools. Every other tool is shown as it was called. */
const overlays: Readonly<Record<string, Overlay>> = {
  web_search: { show: showSearch },
  web_fetch: { show: showPage },
  recall_memory: { show: showMemories },
  memory_query: { show: showMemories },
  memory_get: { show: showMemories },
  reason: { show: showReason },
  find_tools: { show: showFoundTools },
  lookup_capability: { show: showFoundTools },
  schedule_message: { show: showSchedule },
  sessions_spawn: { show: showSpawn },
  exec: { show: showCommand },
}

/** A call as its tool shows it. `raw`: what went in and came out; `isAside`: below something that says it better. */
export function ToolDetails({ raw, ...props }: OverlayProps & { raw(isAside: boolean): ReactNode }) {
  const { name } = props.tool
  // A model may call a tool by any name, such as one that every object has.
  const overlay = Object.hasOwn(overlays, name) ? (overlays[name]?.show(props) ?? null) : null
  return (
    <>
      {overlay}
      {raw(overlay !== null)}
    </>
  )
}
