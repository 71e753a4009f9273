import { z } from 'zod'

/**
 * What a provider needs to see again, byte for byte, beside a part that it produced (a thinking signature, an item id).
 * Opaque to us; sent back only to the provider that made it.
 */
const replaySchema = z.object({ provider: z.string(), metadata: z.record(z.string(), z.json()) })
export type Replay = z.infer<typeof replaySchema>

const textPartSchema = z.object({ type: z.literal('text'), text: z.string(), replay: replaySchema.optional() })
export type TextPart = z.infer<typeof textPartSchema>

const thinkingPartSchema = z.object({
  type: z.literal('thinking'),
  /** Empty where the provider redacted it; then only `replay` carries it. */
  text: z.string(),
  replay: replaySchema.optional(),
})
export type ThinkingPart = z.infer<typeof thinkingPartSchema>

const toolCallPartSchema = z.object({
  type: z.literal('tool_call'),
  id: z.string(),
  name: z.string(),
  /** The parsed arguments; the raw text (a string) where the provider sent something that is not JSON. */
  input: z.json(),
  replay: replaySchema.optional(),
})
export type ToolCallPart = z.infer<typeof toolCallPartSchema>

/** A stored file: its bytes lie once in `media/` under their sha256, never in the log. */
export const mediaPartSchema = z.object({
  type: z.literal('media'),
  hash: z.string(),
  mediaType: z.string(),
  name: z.string(),
  bytes: z.number().int().nonnegative(),
})
export type MediaPart = z.infer<typeof mediaPartSchema>

export const assistantPartSchema = z.discriminatedUnion('type', [
  textPartSchema,
  thinkingPartSchema,
  toolCallPartSchema,
])
export type AssistantPart = z.infer<typeof assistantPartSchema>

export type UserPart = TextPart | MediaPart

export interface ToolResult {
  callId: string
  name: string
  text: string
  isError: boolean
}

/** One message of the conversation as a model is sent it, in no provider's own format. */
export type ModelMessage =
  | { role: 'user'; parts: UserPart[] }
  | { role: 'assistant'; parts: AssistantPart[] }
  | { role: 'tool'; results: ToolResult[] }

export const usageSchema = z.object({
  /** All input tokens, cached ones included. */
  inputTokens: z.number().int().nonnegative(),
  outputTokens: z.number().int().nonnegative(),
  cacheReadTokens: z.number().int().nonnegative(),
  cacheWriteTokens: z.number().int().nonnegative(),
})
export type Usage = z.infer<typeof usageSchema>

export const stopReasonSchema = z.enum(['end', 'tool_use', 'max_tokens', 'refusal', 'other'])
export type StopReason = z.infer<typeof stopReasonSchema>
