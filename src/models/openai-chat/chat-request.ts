import type { ToolDefinition } from '../../protocol/tool.ts'
import type { ModelRequest } from '../model.ts'
import type { ModelSettings } from '../model-settings.ts'
import { toEffort } from '../providers/effort.ts'
import { toStrictSchema } from '../strict-schema.ts'
import { type ChatContext, toChatMessages } from './chat-messages.ts'

/**
 * The body of one call. The conversation is its last key, so that a request is the one before it plus what is new, byte
 * for byte, with nothing constant behind the part that grows.
 */
export async function toChatRequest(
  request: ModelRequest,
  { settings, ...context }: ChatContext & { settings: ModelSettings },
): Promise<string> {
  const { model, temperature, thinkingTokens, oneCallAtATime, strictTools = false } = settings
  return JSON.stringify({
    model,
    max_tokens: Math.min(request.maxTokens, context.info.maxTokens),
    ...(temperature !== undefined && { temperature }),
    ...(oneCallAtATime && { parallel_tool_calls: false }),
    ...(thinkingTokens && { reasoning_effort: toEffort(thinkingTokens) }),
    ...(request.tools.length > 0 && { tools: request.tools.map((tool) => toChatTool(tool, strictTools)) }),
    stream: true,
    stream_options: { include_usage: true },
    messages: await toChatMessages(request, context),
  })
}

function toChatTool({ name, description, inputSchema, strict }: ToolDefinition, strictTools: boolean): object {
  const closed = strict || strictTools ? toStrictSchema(inputSchema, 'complete') : undefined
  return {
    type: 'function',
    function: { name, description, parameters: closed ?? inputSchema, ...(closed && { strict: true }) },
  }
}
