import { z } from 'zod'
import type { Json } from './json.ts'

/** What goes out of the house, over the wire. */

const outboxStateSchema = z.enum(['pending', 'sending', 'sent', 'unknown', 'failed', 'cancelled'])

const itemFields = {
  id: z.string(),
  channel: z.string(),
  address: z.string(),
  /** `unknown`: it may have arrived. */
  state: outboxStateSchema,
  attempts: z.number(),
  /** When it is tried next; null where nothing more is tried. */
  next_at: z.string().nullable(),
  error: z.string().nullable(),
  /** What the other side calls it. */
  external_id: z.string().nullable(),
  session_id: z.string().nullable(),
  /** The one of unknown outcome that this one says again. */
  repeats: z.string().nullable(),
  /** The beginning of what it says. */
  preview: z.string(),
  created_at: z.string(),
  updated_at: z.string(),
}

export const outboxItemReplySchema = z.object(itemFields)
export type OutboxItemReply = z.infer<typeof outboxItemReplySchema>

export const shownOutboxItemReplySchema = z.object({ ...itemFields, payload: z.custom<Json>() })
export type ShownOutboxItemReply = z.infer<typeof shownOutboxItemReplySchema>

export const outboxReplySchema = z.object({
  items: z.array(outboxItemReplySchema),
  /** Of all that the user has there. */
  counts: z.record(outboxStateSchema, z.number()),
})
export type OutboxReply = z.infer<typeof outboxReplySchema>

export const outboxQuerySchema = z.strictObject({
  state: outboxStateSchema.optional(),
  channel: z.string().max(40).optional(),
  limit: z.coerce.number().int().min(1).max(500).default(50),
})
