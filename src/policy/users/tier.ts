/**
 * What the users of a tier may use and spend (CLIENT-4). It comes from the user's record and the config of this home, never
 * from a request.
 */
export interface Tier {
  name: string
  /** Patterns of names, in which `*` stands for any letters. What is denied stays denied whatever is allowed. */
  tools: { allow: readonly string[]; deny: readonly string[] }
  /** Ids of models by purpose; empty: the routes of everybody. */
  routes: Readonly<Partial<Record<string, readonly string[]>>>
  /** In dollars. Absent: as for everybody; null: without a limit. */
  budget: TierBudget
  /** Conversations at once; null: as many as they like. */
  maxSessions: number | null
}

interface TierBudget {
  perMessageUsd?: number | null
  perBuildUsd?: number | null
  perDayUsd?: number | null
  perMonthUsd?: number | null
}

export const ownerTierName = 'owner'
/** Of users that are added without a word about their tier. The config may say what it has. */
export const guestTierName = 'guest'

const everything: Omit<Tier, 'name'> = {
  tools: { allow: ['*'], deny: [] },
  routes: {},
  budget: {},
  maxSessions: null,
}

const talk: Omit<Tier, 'name'> = { ...everything, tools: { allow: [], deny: [] } }

/** The tiers that there are whatever is configured; `owner` is nobody's to change. */
export function withBuiltInTiers(configured: Readonly<Record<string, Tier>>): Readonly<Record<string, Tier>> {
  return {
    [guestTierName]: { name: guestTierName, ...talk },
    ...configured,
    [ownerTierName]: { name: ownerTierName, ...everything },
  }
}

/** Of a tier that the config no longer names, and of nobody's record: nothing is allowed and nothing may be spent. */
export function closedTier(name: string): Tier {
  return {
    name,
    tools: { allow: [], deny: ['*'] },
    routes: { primary: ['offline/offline'] },
    budget: { perMessageUsd: 0, perBuildUsd: 0, perDayUsd: 0, perMonthUsd: 0 },
    maxSessions: 0,
  }
}

/** They reach the owner's files and programs, which no user id keeps apart: a pattern does not include them. */
const ownersMachine = new Set(['exec', 'file_read', 'file_write', 'file_edit'])

export function allowsTool({ name, tools: { allow, deny } }: Tier, toolName: string): boolean {
  if (name !== ownerTierName && ownersMachine.has(toolName) && !allow.includes(toolName)) return false
  const fits = (pattern: string) => fitsPattern(pattern, toolName)
  return allow.some(fits) && !deny.some(fits)
}

/**
 * The models for a purpose, first the one that is tried first; undefined where they are those of everybody. A purpose that
 * the tier does not name gets the tier's primary ones: what it leaves out must not lead to a dearer model.
 */
export function routeOf({ routes }: Tier, purpose: string): readonly string[] | undefined {
  return routes[purpose] ?? routes.primary ?? Object.values(routes)[0]
}

/** Whether a user of the tier may choose the model. */
export function allowsModel({ routes }: Tier, modelId: string): boolean {
  const lists = Object.values(routes)
  return lists.length === 0 || lists.some((ids) => ids?.includes(modelId))
}

/** Without a regular expression: patterns come from a file, and no pattern may take long. */
function fitsPattern(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return name === first
  if (!name.startsWith(first) || name.length < first.length + last.length || !name.endsWith(last)) return false
  const end = name.length - last.length
  let from = first.length
  for (const part of rest) {
    const at = name.indexOf(part, from)
    if (at === -1 || at + part.length > end) return false
    from = at + part.length
  }
  return true
}
