import { type Tier, withBuiltInTiers } from '../../policy/users/tier.ts'
import { camelKeys } from './camel-keys.ts'
import type { Settings } from './settings-schema.ts'

/** `[tiers.NAME]`, and those that are there whatever is configured. */
export function readTiers(tiers: Settings['tiers']): Readonly<Record<string, Tier>> {
  const configured = Object.entries(tiers).map(([name, { tools, routes, budget, max_sessions }]): [string, Tier] => [
    name,
    { name, tools, routes, budget: camelKeys(budget), maxSessions: max_sessions ?? null },
  ])
  return withBuiltInTiers(Object.fromEntries(configured))
}
