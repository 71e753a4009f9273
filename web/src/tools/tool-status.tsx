import type { ToolSummaryReply } from '../../../src/protocol/tool-api.ts'
import { Badge, type BadgeKind } from '../components/badge.tsx'

const states: Record<ToolSummaryReply['status'], { name: string; kind: BadgeKind }> = {
  system: { name: 'Ready', kind: 'good' },
  connected: { name: 'Ready', kind: 'good' },
  available: { name: 'Not set up', kind: 'warn' },
  disabled: { name: 'Off', kind: 'warn' },
  building: { name: 'Being prepared', kind: 'busy' },
  error: { name: 'Broken', kind: 'bad' },
}

/** Familiar's own tools are always there: of those only what is wrong is worth a word. */
export function ToolStatus({ tool }: { tool: Pick<ToolSummaryReply, 'status' | 'kind'> }) {
  const { name, kind } = states[tool.status]
  if (tool.kind === 'builtin' && kind === 'good') return <Badge>{kindNames.builtin}</Badge>
  return <Badge kind={kind}>{name}</Badge>
}

export const kindNames: Record<ToolSummaryReply['kind'], string> = {
  builtin: 'Familiar’s own',
  contract: 'A folder of yours',
  mcp: 'Of an MCP server',
}

export const triggerNames: Record<ToolSummaryReply['trigger'], string> = {
  on_demand: 'when it is called',
  cron: 'by a schedule',
  webhook: 'when a webhook is called',
}
