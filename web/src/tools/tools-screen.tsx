import type { ToolSummaryReply } from '../../../src/protocol/tools.ts'
import { call, type Reply, useAnswer } from '../api/call.ts'
import { Badge, type BadgeKind, Button, CommandLine } from '../components/controls.tsx'
import { Empty, Failure, Notice, useToasts } from '../components/feedback.tsx'
import { SelectField, TextField } from '../components/forms.tsx'
import { Panel, Rich, Screen } from '../components/layout.tsx'
import { Tabs } from '../components/tabs.tsx'
import { useWho } from '../shell/account.tsx'
import { Link, usePlace, useQueryValue } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { findInTools, ToolIcon, ToolStatus, toolKindNames, toolPath, toolsPath } from './tool-parts.tsx'
import { ToolScreen } from './tool-screen.tsx'

type McpServer = Reply<'mcp.servers'>['servers'][number]

const states: Record<McpServer['state'], { name: string; kind: BadgeKind }> = {
  new: { name: t.tools.needsApproval, kind: 'warn' },
  approved: { name: t.tools.approved, kind: 'good' },
  changed: { name: t.tools.changedSinceApproval, kind: 'warn' },
  disabled: { name: t.common.off, kind: 'plain' },
}

/** MCP servers. They start programs, so they are approved only on the machine itself. */
function McpServers() {
  const toasts = useToasts()
  const { data, error, refresh, put } = useAnswer('mcp.servers', {}, { everyMs: 15_000 })

  async function readAgain(): Promise<void> {
    try {
      put(await call('mcp.refresh'))
      toasts.done(t.tools.reloaded)
    } catch (cause) {
      toasts.failed(cause)
    }
  }

  if (error) return <Failure error={error} onRetry={refresh} />
  if (!data) return <p className="breathing text-soft">{t.common.loading}</p>
  if (data.servers.length === 0) {
    return (
      <Empty title={t.tools.noMcpServers}>
        <Rich text={t.tools.mcpHelp} />
      </Empty>
    )
  }
  return (
    <>
      <div className="mb-3 flex justify-end">
        <Button size="small" onClick={() => void readAgain()}>
          {t.tools.reload}
        </Button>
      </div>
      <ul className="space-y-3">
        {data.servers.map((server) => (
          <li key={server.name}>
            <ServerPanel server={server} />
          </li>
        ))}
      </ul>
    </>
  )
}

function ServerPanel({ server }: { server: McpServer }) {
  const { name, state, is_connected, needs_login, tools, changes } = server
  return (
    <Panel>
      <div className="flex flex-wrap items-center gap-2">
        <h2 className="font-semibold">{name}</h2>
        <Badge kind={states[state].kind}>{states[state].name}</Badge>
        {needs_login && <Badge kind="warn">{t.tools.needsLogin}</Badge>}
        {state === 'approved' && !needs_login && (
          <Badge kind={is_connected ? 'good' : 'bad'}>{is_connected ? t.tools.connected : t.tools.notConnected}</Badge>
        )}
      </div>
      {(state === 'new' || state === 'changed') && (
        <div className="mt-3 space-y-2">
          <Notice kind="warning">
            {state === 'new' ? t.tools.toolsCannotUsedYet : t.tools.toolsOffUntilApprove}{' '}
            {t.tools.approveRunTerminalMachine}
          </Notice>
          <CommandLine command={`familiar mcp approve ${name}`} />
        </div>
      )}
      {needs_login && (
        <div className="mt-3 space-y-2">
          <Notice kind="warning">{t.tools.serverNeedsLoginRun}</Notice>
          <CommandLine command={`familiar mcp login ${name}`} />
        </div>
      )}
      {changes.length > 0 && (
        <ul className="mt-3 list-disc space-y-1 ps-5 text-sm text-soft">
          {changes.map((change) => (
            <li key={change}>{change}</li>
          ))}
        </ul>
      )}
      {tools.length > 0 && (
        <ul aria-label={t.tools.toolsOf(name)} className="mt-3 space-y-1.5 text-sm">
          {tools.map((tool) => (
            <li key={tool.name}>
              <span className="font-mono text-[0.8125rem]">{tool.name}</span>{' '}
              <span className="text-soft">{tool.description}</span>
              {tool.problem && <span className="block text-warn">{tool.problem}</span>}
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

const kinds = [
  { value: '', label: t.tools.allKinds },
  { value: 'contract', label: t.tools.custom },
  { value: 'mcp', label: t.tools.mcpServersTitle },
  { value: 'builtin', label: t.tools.builtIn },
]

function ToolList() {
  const { data, error, refresh } = useAnswer('tools.list', {}, { everyMs: 15_000 })
  const [query, setQuery] = useQueryValue('q')
  const [kind, setKind] = useQueryValue('kind')
  const [internal, setInternal] = useQueryValue('internal')
  if (error) return <Failure error={error} onRetry={refresh} />
  if (!data) return <p className="breathing text-soft">{t.common.loading}</p>
  // Tools that Familiar itself uses are of interest to few. A search or a kind asks for them.
  const isAll = internal !== '' || query.trim() !== '' || kind !== ''
  const found = findInTools(data.tools, query, kind).filter((tool) => isAll || tool.kind !== 'builtin')
  const hasOwn = data.tools.some((tool) => tool.kind === 'contract')
  return (
    <>
      <div className="mb-4 flex flex-wrap gap-2">
        <TextField
          label={t.tools.searchTools}
          isLabelHidden
          type="search"
          placeholder={t.tools.searchNameWhatDoes}
          className="min-w-48 flex-1"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
        <SelectField label={t.common.kind} isLabelHidden choices={kinds} value={kind} onChange={setKind} />
        <label className="flex min-h-9 items-center gap-2 text-sm">
          <input
            type="checkbox"
            checked={internal !== ''}
            onChange={(event) => setInternal(event.target.checked ? 'true' : '')}
          />
          {t.tools.showInternalTools}
        </label>
      </div>
      <p className="sr-only" role="status">
        {t.tools.found(found.length)}
      </p>
      {found.length === 0 ? (
        <Empty title={isAll ? t.common.noResults : t.tools.noToolsYet}>
          {hasOwn || (isAll && kind !== 'contract') ? t.tools.tryOtherWordsAnother : <Rich text={t.tools.customHelp} />}
        </Empty>
      ) : (
        <ul className="divide-y divide-line">
          {found.map((tool) => (
            <ToolLine key={tool.name} tool={tool} />
          ))}
        </ul>
      )}
    </>
  )
}

function ToolLine({ tool }: { tool: ToolSummaryReply }) {
  const { name, description, kind, problem } = tool
  return (
    <li>
      <Link href={toolPath(name)} className="-mx-2 flex items-start gap-3 rounded-lg px-2 py-2.5 hover:bg-sunken">
        <ToolIcon icon={tool.icon} />
        <span className="min-w-0 flex-1">
          <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <span className="font-medium">{name}</span>
            <ToolStatus tool={tool} />
            {kind !== 'builtin' && <span className="text-xs text-soft">{toolKindNames[kind]}</span>}
          </span>
          <span dir="auto" className="line-clamp-2 block text-sm text-soft">
            {description}
          </span>
          {problem && <span className="block text-sm text-warn">{problem}</span>}
        </span>
      </Link>
    </li>
  )
}

/** `/toolbox` is the list, `/toolbox/<name>` one of them. */
export function ToolsScreen() {
  const { path } = usePlace()
  const { is_owner } = useWho()
  const [tab, setTab] = useQueryValue('tab', 'tools')
  const name = path.startsWith(`${toolsPath}/`) ? decodeURIComponent(path.slice(toolsPath.length + 1)) : ''
  if (name !== '') return <ToolScreen key={name} name={name} />
  return (
    <Screen title={t.common.tools} intro={t.tools.allToolsTheirPermissions}>
      {is_owner ? (
        <Tabs
          label={t.common.tools}
          value={tab}
          onChange={setTab}
          tabs={[
            { name: 'tools', label: t.tools.allTools, content: <ToolList /> },
            { name: 'servers', label: t.tools.mcpServersTitle, content: <McpServers /> },
          ]}
        />
      ) : (
        <ToolList />
      )}
    </Screen>
  )
}
