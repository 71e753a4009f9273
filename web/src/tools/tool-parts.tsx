import type { ToolCallReply, ToolRunReply, ToolSummaryReply } from '../../../src/protocol/tools.ts'
import { Badge, type BadgeKind, CopyButton } from '../components/controls.tsx'
import { Icon } from '../components/icon.tsx'
import { t } from '../strings/strings.ts'

/** Not `/tools`: that path is part of the API, and a reload there would not load the page. */
export const toolsPath = '/toolbox'

/** The path of a tool's screen, by the name that a model calls it by. */
export function toolPath(name: string): string {
  return name.startsWith('cap_')
    ? `/capabilities/${encodeURIComponent(name.slice('cap_'.length))}`
    : `${toolsPath}/${encodeURIComponent(name)}`
}

/** Output as plain text. */
export function OutputText({ title, text }: { title: string; text: string }) {
  return (
    <div className="overflow-hidden rounded-xl border border-line bg-sunken">
      <div className="flex items-center justify-between border-b border-line px-3 py-0.5 text-xs text-soft">
        <span>{title}</span>
        <CopyButton text={text} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
      <pre tabIndex={0} className="max-h-96 overflow-auto whitespace-pre-wrap p-3 font-mono text-xs leading-relaxed">
        {text}
      </pre>
    </div>
  )
}

export const outcomeNames: Record<ToolRunReply['outcome'], string> = {
  succeeded: t.tools.succeeded,
  failed: t.common.failed,
  timed_out: t.tools.timedOut,
  service_failed: t.tools.serviceError,
  refused: t.tools.blocked,
}

/** The icon of a tool: an emoji is shown; another word is not. */
export function ToolIcon({ icon }: { icon: string | null }) {
  const isPicture = icon !== null && /^\p{Extended_Pictographic}/u.test(icon)
  return (
    <span aria-hidden="true" className="flex size-6 shrink-0 items-center justify-center text-soft">
      {isPicture ? [...icon].slice(0, 4).join('') : <Icon name="tool" />}
    </span>
  )
}

const states: Record<ToolSummaryReply['status'], { name: string; kind: BadgeKind }> = {
  system: { name: t.tools.ready, kind: 'good' },
  connected: { name: t.tools.ready, kind: 'good' },
  available: { name: t.tools.setupNeeded, kind: 'warn' },
  disabled: { name: t.common.off, kind: 'warn' },
  building: { name: t.tools.preparing, kind: 'busy' },
  error: { name: t.tools.broken, kind: 'bad' },
}

/** Built-in tools are always ready, so only their problems are shown. */
export function ToolStatus({ tool }: { tool: Pick<ToolSummaryReply, 'status' | 'kind'> }) {
  const { name, kind } = states[tool.status]
  if (tool.kind === 'builtin' && kind === 'good') return <Badge>{toolKindNames.builtin}</Badge>
  return <Badge kind={kind}>{name}</Badge>
}

export const toolKindNames: Record<ToolSummaryReply['kind'], string> = {
  builtin: t.tools.builtIn,
  contract: t.tools.custom,
  mcp: t.tools.mcpServer,
}

export const triggerNames: Record<ToolSummaryReply['trigger'], string> = {
  on_demand: t.tools.whenCalled,
  cron: t.tools.onASchedule,
  webhook: t.tools.byWebhook,
}

/** A few numbers, side by side. */
export function FigureRow({ figures }: { figures: readonly (readonly [name: string, value: string])[] }) {
  return (
    <dl className="mb-4 flex flex-wrap gap-x-8 gap-y-3">
      {figures.map(([name, value]) => (
        <div key={name} className="flex flex-col-reverse">
          <dt className="text-xs text-soft">{name}</dt>
          <dd className="text-lg font-semibold tabular-nums">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

interface CallFigures {
  calls: number
  failures: number
  /** Null where there was no call. */
  medianMs: number | null
  lastAt: string | null
}

/** How something has served, by its newest calls. */
export function callFigures(calls: readonly ToolCallReply[]): CallFigures {
  const times = calls.map(({ duration_ms }) => duration_ms).toSorted((one, other) => one - other)
  const middle = times.length / 2
  const medianMs =
    times.length === 0
      ? null
      : times.length % 2 === 1
        ? (times[Math.floor(middle)] ?? null)
        : ((times[middle - 1] ?? 0) + (times[middle] ?? 0)) / 2
  return {
    calls: calls.length,
    failures: calls.filter(({ outcome }) => outcome !== 'succeeded').length,
    medianMs,
    lastAt:
      calls
        .map(({ at }) => at)
        .toSorted()
        .at(-1) ?? null,
  }
}

/** Those that hold every word, of that kind; the user's own first, and of those what needs a hand. */
export function findInTools(tools: readonly ToolSummaryReply[], query: string, kind: string): ToolSummaryReply[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  return tools
    .filter((tool) => kind === '' || tool.kind === kind)
    .filter(({ name, description, category }) => {
      const text = `${name} ${name.replaceAll('_', ' ')} ${description} ${category ?? ''}`.toLowerCase()
      return words.every((word) => text.includes(word))
    })
    .toSorted((one, other) => rankOf(one) - rankOf(other) || one.name.localeCompare(other.name))
}

function rankOf({ kind, status }: ToolSummaryReply): number {
  if (status === 'error') return 0
  if (kind === 'builtin') return 4
  return status === 'available' || status === 'disabled' ? 1 : 2
}
