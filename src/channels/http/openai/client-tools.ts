import type { MessageRequest } from '../../../protocol/api.ts'
import { clientToolsSchema } from '../../../protocol/client-tool.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { Json } from '../../../protocol/json.ts'
import { describeIssues } from '../describe-issues.ts'

interface OfferedTool {
  name: string
  description?: string | null | undefined
  parameters?: Record<string, Json> | null | undefined
}

type ToolChoice = 'auto' | 'none' | 'required' | { name: string } | null | undefined

export interface ClientToolUse {
  tools: MessageRequest['client_tools']
  /** Nobody can make a model call a tool; it is told that the client wants it. */
  toCall: string | 'any' | undefined
}

/** The tools that the client brings with this message, and whether it wants one of them called. */
export function readTools(offered: readonly OfferedTool[], choice: ToolChoice): ClientToolUse {
  if (choice === 'none' || offered.length === 0) return { tools: [], toCall: undefined }
  const read = clientToolsSchema.safeParse(
    offered.map(({ name, description, parameters }) => ({
      name,
      description: description?.trim() || name,
      input_schema: { type: 'object', ...parameters },
    })),
  )
  if (!read.success) throw new FamiliarError('bad_request', `tools: ${describeIssues(read.error, 'body')}`)
  if (choice === 'required') return { tools: read.data, toCall: 'any' }
  return { tools: read.data, toCall: typeof choice === 'object' ? choice?.name : undefined }
}
