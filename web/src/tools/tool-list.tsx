import type { ToolSummaryReply, ToolsReply } from '../../../src/protocol/tool-api.ts'
import { useAnswer } from '../api/use-answer.ts'
import { SelectField, TextField } from '../components/field.tsx'
import { Empty, Failure } from '../components/notice.tsx'
import { Link } from '../shell/link.tsx'
import { useQueryValue } from '../shell/use-query-value.ts'
import { findInTools } from './find-in-tools.ts'
import { ToolIcon } from './tool-icon.tsx'
import { kindNames, ToolStatus } from './tool-status.tsx'
import { toolPath } from './tools-path.ts'

const kinds = [
  { value: '', label: 'All kinds' },
  { value: 'contract', label: 'Your folders' },
  { value: 'mcp', label: 'MCP servers' },
  { value: 'builtin', label: 'Familiar’s own' },
]

export function ToolList() {
  const { data, error, refresh } = useAnswer<ToolsReply>('/tools', { everyMs: 15_000 })
  const [query, setQuery] = useQueryValue('q')
  const [kind, setKind] = useQueryValue('kind')
  if (error) return <Failure error={error} onRetry={refresh} />
  if (!data) return <p className="breathing text-soft">One moment …</p>
  const found = findInTools(data.tools, query, kind)
  const hasOwn = data.tools.some((tool) => tool.kind === 'contract')
  return (
    <>
      <div className="mb-4 flex flex-wrap gap-2">
        <TextField
          label="Search tools"
          isLabelHidden
          type="search"
          placeholder="Search by name or what it does"
          className="min-w-48 flex-1"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
        <SelectField label="Kind" isLabelHidden choices={kinds} value={kind} onChange={setKind} />
      </div>
      <p className="sr-only" role="status">
        {found.length} found
      </p>
      {found.length === 0 ? (
        <Empty title="No tool fits">
          {hasOwn || kind !== 'contract' ? (
            'Try other words, or another kind.'
          ) : (
            <>
              A tool of your own is a folder with a program in it. Begin in a terminal with{' '}
              <code className="font-mono">familiar tools new NAME</code>; it shows up here by itself.
            </>
          )}
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
            {kind !== 'builtin' && <span className="text-xs text-soft">{kindNames[kind]}</span>}
          </span>
          <span className="line-clamp-2 block text-sm text-soft">{description}</span>
          {problem && <span className="block text-sm text-warn">{problem}</span>}
        </span>
      </Link>
    </li>
  )
}
