import { z } from 'zod'
import { usageReplySchema } from './api.ts'

/** What was spent on what, and how much may be. */

const spendingPeriodSchema = z.enum(['today', 'week', 'month', 'quarter', 'year', 'all'])
export const spendingQuerySchema = z.strictObject({ period: spendingPeriodSchema.default('month') })

const spentSchema = z.object({
  calls: z.number().int(),
  /** Calls of models without a price: their cost is unknown, and not in `cost_usd`. */
  unpriced_calls: z.number().int(),
  ...usageReplySchema.shape,
  cost_usd: z.number(),
})
export type SpentReply = z.infer<typeof spentSchema>

const namedSpentSchema = spentSchema.extend({ name: z.string() })

export const spendingReplySchema = z.object({
  period: spendingPeriodSchema,
  total: spentSchema,
  /** In order, with the days on which nothing was called. */
  days: z.array(
    z.object({
      /** `2026-11-15`, on the clock of the machine that Familiar runs on. */
      day: z.string(),
      total: spentSchema,
      by_model: z.array(
        z.object({
          name: z.string(),
          calls: z.number().int(),
          /** Sent and received. */
          tokens: z.number().int(),
          cost_usd: z.number(),
        }),
      ),
    }),
  ),
  /** The dearest first, as the two after it. */
  by_model: z.array(namedSpentSchema),
  by_purpose: z.array(namedSpentSchema),
  by_session: z.array(spentSchema.extend({ session_id: z.string().nullable() })),
  /** How many more sessions there were. */
  sessions_left_out: z.number().int(),
})
export type SpendingReply = z.infer<typeof spendingReplySchema>

export const capsReplySchema = z.object({
  /** The table of the config that they stand in. */
  section: z.string(),
  caps: z.array(
    z.object({
      name: z.enum(['message', 'build', 'day', 'month']),
      /** Null: without a limit. */
      limit_usd: z.number().nullable(),
      /** In this day or month; of a message or build: the dearest one of today. */
      spent_usd: z.number(),
      /** Set aside for calls that are under way. */
      reserved_usd: z.number(),
    }),
  ),
})
export type CapsReply = z.infer<typeof capsReplySchema>
