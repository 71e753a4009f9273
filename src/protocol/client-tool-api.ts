import { z } from 'zod'
import { chatReplySchema } from './api.ts'
import { isShallow } from './is-shallow.ts'
import type { Json } from './json.ts'

const maxResultDepth = 64

const toolResultSchema = z.strictObject({
  call_id: z.string().min(1).max(200),
  /** Text, or any JSON, which the model is shown as text. */
  result: z
    .custom<Json>((value) => value !== undefined, 'is needed')
    .refine((value) => isShallow(value, maxResultDepth), `must not be nested deeper than ${maxResultDepth} levels`),
  is_error: z.boolean().default(false),
  /** It holds words of somebody else, such as a page: they are data, whatever they say. */
  untrusted: z.boolean().default(false),
})

/** All of them count, or none. */
export const toolResultsRequestSchema = z.strictObject({ results: z.array(toolResultSchema).min(1).max(64) })
export type ToolResultsRequest = z.infer<typeof toolResultsRequestSchema>

/** The turn waits for the client: nothing is said before its results are there. */
export const clientCallsReplySchema = z.object({
  /** Always empty: what the model says of the calls, it says when they have been made. */
  reply: z.literal(''),
  session_id: z.string(),
  turn_id: z.string(),
  tool_calls: z.array(z.object({ id: z.string(), name: z.string(), arguments: z.custom<Json>() })),
  /** Later results are refused, and the model is told that none came. */
  expires_at: z.iso.datetime(),
  meta: z.object({ has_tool_calls: z.literal(true) }),
})
export type ClientCallsReply = z.infer<typeof clientCallsReplySchema>

/** The end of the turn, or the calls that it waits for. */
export const turnReplySchema = z.union([chatReplySchema, clientCallsReplySchema])
