import { z } from 'zod'
import { asWritten } from './operation.ts'

/** The Builder works there: one session for each build, named by its id. */
export const builderChannel = 'builder'

/** Sub-agents work there: one session for each spawn, named by its id. */
export const subagentChannel = 'subagent'

/**
 * Sessions in which nobody speaks: work that a conversation has begun. They are not listed among the conversations, do
 * not take a place from them, and are cut off at once when the daemon stops, since they go on at the next start.
 */
export const workChannels: readonly string[] = [builderChannel, subagentChannel]

export function isWorkChannel(channel: string): boolean {
  return workChannels.includes(channel)
}

/** A result to look at. `html` is a rebuilt fragment of allowed elements only; it is still shown in a closed frame. */
export const cardSchema = asWritten(
  z.object({
    title: z.string(),
    html: z.string(),
    /** The same for a terminal or a chat that shows no HTML. */
    text: z.string(),
    /** CSS colours, checked; null where the tool names none. */
    accentColor: z.string().nullable(),
    backgroundColor: z.string().nullable(),
    /** An emoji or the name of an icon; never an address to load. */
    icon: z.string().nullable(),
  }),
)
export type Card = z.infer<typeof cardSchema>

/** Walks without recursion: a body of a megabyte of brackets must not end the stack. */
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

/** A tool that the client itself runs, as it tells of it with a message (CLIENT-1). */
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

/**
 * Whose words a text is: the owner's own, Familiar's, or those of anybody. Untrusted text is data to the reader,
 * whatever it says.
 */
export const labelSchema = z.enum(['owner', 'internal', 'untrusted'])
export type Label = z.infer<typeof labelSchema>

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
const mediaReadingSchema = z.object({
  /** How the model gets it: as an image, as text (whole or its beginning), as the file itself, or not at all. */
  state: z.enum(['image', 'text', 'partial', 'file', 'unreadable']),
  /** A sentence for the user; empty where there is nothing to say. */
  note: z.string(),
  /** Where it is saved in the user's workspace. */
  path: z.string().optional(),
  /** What the model reads in its place. Kept in the log, not sent to clients. */
  text: z.string().optional(),
})
export type MediaReading = z.infer<typeof mediaReadingSchema>

/** The media type of what an OpenAI client quotes: the message itself holds it, the file marks it as not the user's. */
export const quotedHistoryType = 'text/x-client-history'

export const mediaPartSchema = z.object({
  type: z.literal('media'),
  hash: z.string(),
  mediaType: z.string(),
  name: z.string(),
  bytes: z.number().int().nonnegative(),
  /** What became of an attachment when its turn began. */
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
  /** The provider sent no count, or not all of it: these are estimates. */
  isEstimate: z.literal(true).optional(),
})
export type Usage = z.infer<typeof usageSchema>

export const stopReasonSchema = z.enum(['end', 'tool_use', 'max_tokens', 'refusal', 'other'])
export type StopReason = z.infer<typeof stopReasonSchema>

/** What a model is told of a tool. */
export const toolDefinitionSchema = z.object({
  name: z.string(),
  description: z.string(),
  /** JSON Schema of an object. */
  inputSchema: z.record(z.string(), z.json()),
  /** Ask the provider to hold the arguments to the schema, where it can. */
  strict: z.boolean().exactOptional(),
})
export type ToolDefinition = z.infer<typeof toolDefinitionSchema>

/** Which tool a client wants called: any of its own, or the one of this name. */
export const toolChoiceSchema = z.union([z.literal('any'), z.object({ name: z.string() })])
export type ToolChoice = z.infer<typeof toolChoiceSchema>

/**
 * What may happen to a call that was interrupted by a crash.
 * `idempotent` and `at-least-once` calls run again; an `at-most-once` call does not: its outcome is unknown.
 */
export type ToolEffect = 'idempotent' | 'at-most-once' | 'at-least-once'
