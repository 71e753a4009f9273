import type { ToolCatalog } from '../tools/contract/tool-catalog.ts'

/** A tool that runs without being asked, as its folder declares it. */
export interface TriggeredTool {
  name: string
  trigger: { kind: 'cron'; schedule: string } | { kind: 'webhook' }
  /** What its output is put behind when it is told. May be empty. */
  prompt: string
  /** Whether its output is told where the output itself does not say so (`notification.default_enabled`). */
  notifiesByDefault: boolean
}

export type RunTool = ToolCatalog['run']
