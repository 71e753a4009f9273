import { z } from 'zod'
import { purposes } from '../../models/models.ts'
import { ownerTierName } from '../../policy/users/tier.ts'

const tierName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,31}$/, 'must be a name of small letters, digits, - and _')
  .refine((name) => name !== ownerTierName, 'is built in: the owner has everything')
const pattern = z
  .string()
  .max(200)
  .regex(/^[A-Za-z0-9_.:*-]+$/, 'must be the name of a tool, in which * stands for any letters')
const usd = z.number().nonnegative()

/**
 * `[tiers.NAME]` of `familiar.toml`: what the users of a tier have. Without `tools.allow` there are no tools; what is not
 * said of models and budgets is as for everybody.
 */
export function tiersSchema<Route extends z.ZodType>(route: Route) {
  const routes = Object.fromEntries(purposes.map((purpose) => [purpose, route.exactOptional()])) as Record<
    (typeof purposes)[number],
    z.ZodExactOptional<Route>
  >
  const tier = z.strictObject({
    tools: z.strictObject({ allow: z.array(pattern).default([]), deny: z.array(pattern).default([]) }).prefault({}),
    routes: z.strictObject(routes).prefault({}),
    budget: z
      .strictObject({
        per_message_usd: usd.exactOptional(),
        per_build_usd: usd.exactOptional(),
        per_day_usd: usd.exactOptional(),
        per_month_usd: usd.exactOptional(),
      })
      .prefault({}),
    max_sessions: z.int().positive().exactOptional(),
  })
  return z.record(tierName, tier).default({})
}
