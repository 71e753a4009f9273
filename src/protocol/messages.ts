import { z } from 'zod'
import { asWritten } from './operation.ts'

/** The channel of the Builder. Each build has one session, named by its id. */
export const builderChannel = 'builder'

/** The channel of sub-agents. Each has one session, named by its id. */
export const subagentChannel = 'subagent'

/**
 * Channels of background work that a conversation started. Their sessions are not listed and do not count as
 * conversations. They stop at once with the daemon and resume at the next start.
 */
export const workChannels: readonly string[] = [builderChannel, subagentChannel]

export function isWorkChannel(channel: string): boolean {
  return workChannels.includes(channel)
}

/** A visual result. `html` contains only allowed elements, and is shown in a sandboxed frame. */
export const cardSchema = asWritten(
  z.object({
    title: z.string(),
    html: z.string(),
    /** The same as text, for terminals and chats. */
    text: z.string(),
    /** Validated CSS colors; null if the tool sets none. */
    accentColor: z.string().nullable(),
    backgroundColor: z.string().nullable(),
    /** An emoji or the name of an icon, never a URL. */
    icon: z.string().nullable(),
  }),
)
export type Card = z.infer<typeof cardSchema>

/** Works without recursion: a megabyte of brackets must not overflow the stack. */
export function isShallow(value: Json, maxDepth: number): boolean {
  let level: Json[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return false
    level = level.flatMap((item) => (item !== null && typeof item === 'object' ? Object.values(item) : []))
  }
  return true
}

const maxSchemaDepth = 32
const maxSchemaCharacters = 20_000

/** A tool that the client runs itself (CLIENT-1). */
const clientToolSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be a name of letters, digits, - and _'),
  description: z.string().trim().min(1).max(2_000),
  inputSchema: z
    .record(z.string(), z.custom<Json>())
    .refine((schema) => schema.type === 'object', 'must be the schema of an object')
    .refine((schema) => isShallow(schema, maxSchemaDepth), `must not be nested deeper than ${maxSchemaDepth} levels`)
    .refine(
      (schema) => JSON.stringify(schema).length <= maxSchemaCharacters,
      `must not be longer than ${maxSchemaCharacters.toLocaleString('en')} characters`,
    ),
})

export const clientToolsSchema = z
  .array(clientToolSchema)
  .max(32)
  .refine((tools) => new Set(tools.map(({ name }) => name)).size === tools.length, 'must not name a tool twice')

/** Anything that survives JSON.stringify and JSON.parse unchanged. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/** The origin of a text: the owner, Familiar, or anyone else. Untrusted text is data, never instructions. */
export const labelSchema = z.enum(['owner', 'internal', 'untrusted'])
export type Label = z.infer<typeof labelSchema>

/**
 * Data that a provider needs back unchanged with a part that it produced, such as a thinking signature. It is sent only to
 * that provider.
 */
const replaySchema = z.object({ provider: z.string(), metadata: z.record(z.string(), z.json()) })

const textPartSchema = z.object({ type: z.literal('text'), text: z.string(), replay: replaySchema.optional() })
export type TextPart = z.infer<typeof textPartSchema>

const thinkingPartSchema = z.object({
  type: z.literal('thinking'),
  /** Empty if the provider redacted it; `replay` then contains it. */
  text: z.string(),
  replay: replaySchema.optional(),
})
export type ThinkingPart = z.infer<typeof thinkingPartSchema>

const toolCallPartSchema = z.object({
  type: z.literal('tool_call'),
  id: z.string(),
  name: z.string(),
  /** The parsed arguments, or a string if the provider sent invalid JSON. */
  input: z.json(),
  replay: replaySchema.optional(),
})
export type ToolCallPart = z.infer<typeof toolCallPartSchema>

/** The result of reading an attachment at the start of a turn. */
const mediaReadingSchema = z.object({
  /** The form in which the model gets it. `partial` is the beginning of a text. */
  state: z.enum(['image', 'text', 'partial', 'file', 'unreadable']),
  /** A sentence for the user, or empty. */
  note: z.string(),
  /** Its path in the user's workspace. */
  path: z.string().optional(),
  /** The text that the model reads instead. It is kept in the log and not sent to clients. */
  text: z.string().optional(),
})
export type MediaReading = z.infer<typeof mediaReadingSchema>

/** The media type of messages that an OpenAI client quotes. The message contains the text; the file marks it as untrusted. */
export const quotedHistoryType = 'text/x-client-history'

/** A stored file. Its bytes are stored once in `media/` under their SHA-256, never in the log. */
export const mediaPartSchema = z.object({
  type: z.literal('media'),
  hash: z.string(),
  mediaType: z.string(),
  name: z.string(),
  bytes: z.number().int().nonnegative(),
  /** Of a file that a tool made: its path in the user's workspace. */
  path: z.string().optional(),
  /** The user made it: a voice message that they recorded. Other files may be from anyone. */
  isOwn: z.literal(true).optional(),
  reading: mediaReadingSchema.optional(),
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

/** A message for a model, in a format that is independent of providers. */
export type ModelMessage =
  | { role: 'user'; parts: UserPart[] }
  | { role: 'assistant'; parts: AssistantPart[] }
  | { role: 'tool'; results: ToolResult[] }

export const usageSchema = z.object({
  /** All input tokens, including cached ones. */
  inputTokens: z.number().int().nonnegative(),
  outputTokens: z.number().int().nonnegative(),
  cacheReadTokens: z.number().int().nonnegative(),
  cacheWriteTokens: z.number().int().nonnegative(),
  /** The counts are estimates, because the provider sent none or only some. */
  isEstimate: z.literal(true).optional(),
})
export type Usage = z.infer<typeof usageSchema>

export const stopReasonSchema = z.enum(['end', 'tool_use', 'max_tokens', 'refusal', 'other'])
export type StopReason = z.infer<typeof stopReasonSchema>

/** A tool as a model sees it. */
export const toolDefinitionSchema = z.object({
  name: z.string(),
  description: z.string(),
  /** JSON Schema of an object. */
  inputSchema: z.record(z.string(), z.json()),
  /** Asks the provider to enforce the schema, if it can. */
  strict: z.boolean().exactOptional(),
})
export type ToolDefinition = z.infer<typeof toolDefinitionSchema>

/** The tool that a client wants called: any of its own, or one by name. */
export const toolChoiceSchema = z.union([z.literal('any'), z.object({ name: z.string() })])
export type ToolChoice = z.infer<typeof toolChoiceSchema>

/** After a crash, interrupted calls run again, except `at-most-once` calls: their outcome is unknown. */
export type ToolEffect = 'idempotent' | 'at-most-once' | 'at-least-once'
