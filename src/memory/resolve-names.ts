import type { Reader, Writer } from '../storage/database.ts'
import { entityKey } from './fold-text.ts'

/** An entity that a name may stand for. */
export interface NamedEntity {
  key: string
  /** As last named. */
  name: string
}

interface AliasLink {
  alias_key: string
  alias: string
  entity_key: string
  entity: string
}

// A family of names is small. A wrong alias between two big ones must not make every question read all names.
const mostNames = 256

/** Every entity that the name may stand for; the name itself where it is nobody's alias. Never empty. */
export async function resolveNames(reader: Reader | Writer, userId: string, name: string): Promise<NamedEntity[]> {
  const key = entityKey(name)
  const links = await followLinks(reader, userId, [key], 'alias_key')
  return entitiesOf(key, links, await nameOf(reader, userId, key, name))
}

/** All names of all entities that the name may stand for, by key; the name itself is among them. */
export async function allNamesOf(reader: Reader | Writer, userId: string, name: string): Promise<Map<string, string>> {
  const entities = await resolveNames(reader, userId, name)
  const names = new Map(entities.map((entity) => [entity.key, entity.name]))
  const links = await followLinks(reader, userId, [...names.keys()], 'entity_key')
  for (const link of links) if (!names.has(link.alias_key)) names.set(link.alias_key, link.alias)
  if (!names.has(entityKey(name))) names.set(entityKey(name), name)
  return names
}

/** The names that stand for just what the name stands for: of one of two Annas, `Anna` is left out. */
export async function ownNamesOf(reader: Reader | Writer, userId: string, name: string): Promise<Map<string, string>> {
  const names = await allNamesOf(reader, userId, name)
  const links = await followLinks(reader, userId, [...names.keys()], 'alias_key')
  const standsFor = (key: string) =>
    entitiesOf(key, links, '')
      .map((entity) => entity.key)
      .toSorted()
      .join('\n')
  const wanted = standsFor(entityKey(name))
  for (const key of names.keys()) if (standsFor(key) !== wanted) names.delete(key)
  return names
}

/** The keys of what these keys stand for, each entity once: how many different ones there are. */
export async function distinctEntities(
  reader: Reader | Writer,
  userId: string,
  keys: readonly string[],
): Promise<Set<string>> {
  const links = await followLinks(reader, userId, keys, 'alias_key', Number.POSITIVE_INFINITY)
  const clear = new Set<string>()
  const shared: string[][] = []
  for (const key of keys) {
    const entities = entitiesOf(key, links, '').map((entity) => entity.key)
    if (entities.length === 1) clear.add(entities[0] ?? key)
    else shared.push(entities)
  }
  // A name that two people share is one of them: somebody new only where neither is there yet.
  for (const entities of shared) {
    if (!entities.some((entity) => clear.has(entity))) clear.add(entities[0] ?? '')
  }
  return clear
}

/** Where the links from a key end. The names of a circle are one: the first of them by key speaks for all. */
function entitiesOf(key: string, links: readonly AliasLink[], name: string): NamedEntity[] {
  const names = new Map([[key, name], ...links.map((link): [string, string] => [link.entity_key, link.entity])])
  const next = Map.groupBy(links, (link) => link.alias_key)
  const reachable = (from: string): Set<string> => {
    const seen = new Set([from])
    for (const at of seen) for (const link of next.get(at) ?? []) seen.add(link.entity_key)
    return seen
  }
  const ends = new Set<string>()
  for (const candidate of reachable(key)) {
    const beyond = reachable(candidate)
    const isEnd = [...beyond].every((other) => reachable(other).has(candidate))
    if (isEnd) ends.add([...beyond].toSorted()[0] ?? candidate)
  }
  return Array.from(ends, (end) => ({ key: end, name: names.get(end) ?? end }))
}

async function followLinks(
  reader: Reader | Writer,
  userId: string,
  from: readonly string[],
  by: 'alias_key' | 'entity_key',
  most = mostNames,
): Promise<AliasLink[]> {
  const links: AliasLink[] = []
  const seen = new Set(from)
  let edge = [...from]
  while (edge.length > 0 && seen.size <= Math.max(most, from.length)) {
    const found = await selectLinks(reader, userId, by, edge)
    links.push(...found)
    const ends = found.map((link) => (by === 'alias_key' ? link.entity_key : link.alias_key))
    edge = [...new Set(ends)].filter((key) => !seen.has(key))
    for (const key of edge) seen.add(key)
  }
  return links
}

async function selectLinks(
  reader: Reader | Writer,
  userId: string,
  by: 'alias_key' | 'entity_key',
  keys: readonly string[],
): Promise<AliasLink[]> {
  const links: AliasLink[] = []
  for (let start = 0; start < keys.length; start += mostNames) {
    const rows = await reader
      .selectFrom('entity_aliases')
      .select(['alias_key', 'alias', 'entity_key', 'entity'])
      .where('user_id', '=', userId)
      .where(by, 'in', keys.slice(start, start + mostNames))
      .execute()
    links.push(...rows)
  }
  return links
}

/** How the entity of that key was named last, where it has an alias; else the name as given. */
async function nameOf(reader: Reader | Writer, userId: string, key: string, given: string): Promise<string> {
  if (key === 'user') return 'user'
  const row = await reader
    .selectFrom('entity_aliases')
    .select('entity')
    .where('user_id', '=', userId)
    .where('entity_key', '=', key)
    .executeTakeFirst()
  return row?.entity ?? given
}
