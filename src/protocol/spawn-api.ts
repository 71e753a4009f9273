import { z } from 'zod'
import { turnOutcomeReplySchema } from './api.ts'

export const spawnReplySchema = z.object({
  id: z.string(),
  /** Its own session, whose events can be watched; null before it has begun. */
  session_id: z.string().nullable(),
  task: z.string(),
  /** Null: all that a sub-agent may have. */
  tools: z.array(z.string()).nullable(),
  model: z.string().nullable(),
  state: z.enum(['running', 'done', 'failed', 'stopped']),
  /** While it works: which round it is in, and which tools it uses at this moment. */
  doing: z.object({ round: z.number().int(), tools: z.array(z.string()) }).nullable(),
  result: z.object({ outcome: turnOutcomeReplySchema, text: z.string() }).nullable(),
  created_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
})
export type SpawnReply = z.infer<typeof spawnReplySchema>

export const spawnsReplySchema = z.object({ spawns: z.array(spawnReplySchema) })
export type SpawnsReply = z.infer<typeof spawnsReplySchema>
