import type { ToolRunReply } from '../../../src/protocol/tool-api.ts'

export const outcomeNames: Record<ToolRunReply['outcome'], string> = {
  succeeded: 'Worked',
  failed: 'Failed',
  timed_out: 'Took too long',
  service_failed: 'A service failed',
  refused: 'Was not let',
}
