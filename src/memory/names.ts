import type { Json } from '../protocol/messages.ts'
import type { Database, Reader, Writer } from '../storage/database.ts'
import type { EntityAliasRow } from '../storage/tables.ts'
import { isUnspaced } from '../storage/words.ts'
import { requireLine } from './memory.ts'
import { entityKey, foldText } from './words.ts'

/** Whether a text mentions one of some names: folded, and as whole words if the script separates words. */
export type Mentions = (text: string) => boolean

const insideWord = /[\p{L}\p{N}\p{M}]/u

export function mentionsAny(names: readonly string[]): Mentions {
  const phrases = [...new Set(names.map(foldText))].filter((phrase) => phrase !== '')
  return (text) => {
    const folded = foldText(text)
    return phrases.some((phrase) => holdsPhrase(folded, phrase))
  }
}

/** In any string of it, including property names. */
export function isMentionedIn(value: Json, mentions: Mentions): boolean {
  if (typeof value === 'string') return mentions(value)
  if (value === null || typeof value !== 'object') return false
  if (Array.isArray(value)) return value.some((item) => isMentionedIn(item, mentions))
  return Object.entries(value).some(([key, item]) => mentions(key) || isMentionedIn(item, mentions))
}

function holdsPhrase(text: string, phrase: string): boolean {
  for (let at = text.indexOf(phrase); at >= 0; at = text.indexOf(phrase, at + 1)) {
    const before = [...text.slice(Math.max(0, at - 2), at)].at(-1)
    const after = [...text.slice(at + phrase.length, at + phrase.length + 2)][0]
    if (isEdge(before, phrase) && isEdge(after, phrase)) return true
  }
  return false
}

function isEdge(neighbour: string | undefined, phrase: string): boolean {
  return neighbour === undefined || !insideWord.test(neighbour) || isUnspaced(phrase)
}

interface NamedEntity {
  key: string
  name: string
}

type AliasLink = Pick<EntityAliasRow, 'alias' | 'alias_key' | 'entity' | 'entity_key'>

// A family of names is small. A wrong alias between two big ones must not make every query read all names.
const maxNames = 256

/** Every entity that the name may stand for; the name itself if it is not an alias. Never empty. */
async function resolveNames(reader: Reader | Writer, userId: string, name: string): Promise<NamedEntity[]> {
  const key = entityKey(name)
  const links = await followLinks(reader, userId, [key], 'alias_key')
  return entitiesOf(key, links, await nameOf(reader, userId, key, name))
}

/** The name that it stands for. A name that two people share refers to neither: it stays. */
export async function oneName(reader: Reader | Writer, userId: string, name: string): Promise<string> {
  const entities = await resolveNames(reader, userId, name)
  return entities.length === 1 ? (entities[0]?.name ?? name) : name
}

/** All names of all entities that the name may stand for, by key, including itself. */
export async function allNamesOf(reader: Reader | Writer, userId: string, name: string): Promise<Map<string, string>> {
  const entities = await resolveNames(reader, userId, name)
  const names = new Map(entities.map((entity) => [entity.key, entity.name]))
  const links = await followLinks(reader, userId, [...names.keys()], 'entity_key')
  for (const link of links) if (!names.has(link.alias_key)) names.set(link.alias_key, link.alias)
  if (!names.has(entityKey(name))) names.set(entityKey(name), name)
  return names
}

/** The names that stand for exactly the same as the name: for one of two Annas, without `Anna`. */
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

/** The keys of the entities that these keys stand for, each once. */
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
  // A name that two people share is one of them: it counts separately only if neither is present.
  for (const entities of shared) {
    if (!entities.some((entity) => clear.has(entity))) clear.add(entities[0] ?? '')
  }
  return clear
}

/** The ends of the links from a key. The names of a cycle are one: the first by key stands for all. */
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
  most = maxNames,
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
  for (let start = 0; start < keys.length; start += maxNames) {
    const some = keys.slice(start, start + maxNames)
    links.push(...(await selectAliases(reader, userId).where(by, 'in', some).execute()))
  }
  return links
}

function selectAliases(reader: Reader | Writer, userId: string) {
  return reader.selectFrom('entity_aliases').selectAll().where('user_id', '=', userId)
}

/** The latest name of the entity of that key, if it has an alias; otherwise the given name. */
async function nameOf(reader: Reader | Writer, userId: string, key: string, given: string): Promise<string> {
  if (key === 'user') return 'user'
  const row = await selectAliases(reader, userId).where('entity_key', '=', key).executeTakeFirst()
  return row?.entity ?? given
}

/**
 * Other names of people and things. They resolve transitively: if `Bee` is Bea and `Bea` is Beatrice, `Bee` is
 * Beatrice. Two people may share a name: then it resolves to both.
 */
export type Aliases = ReturnType<typeof createAliases>

const maxNameLength = 200

export function createAliases({ database }: { database: Database }) {
  const aliases = {
    /** False if it was known. A cycle is not an error: all its names are one. */
    add: (userId: string, alias: string, entity: string): Promise<boolean> =>
      database.write((writer) => aliases.addIn(writer, userId, alias, entity)),

    async addIn(writer: Writer, userId: string, alias: string, entity: string): Promise<boolean> {
      const row = { user_id: userId, ...linkOf(alias, entity) }
      if (row.alias_key === row.entity_key) return false
      const added = await writer
        .insertInto('entity_aliases')
        .values(row)
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst()
      await writer
        .updateTable('entity_aliases')
        .set({ entity: row.entity })
        .where('user_id', '=', userId)
        .where('entity_key', '=', row.entity_key)
        .execute()
      return Number(added.numInsertedOrUpdatedRows) > 0
    },

    /** The latest names of every entity that the name may stand for; the name itself if it is not an alias. */
    async resolve(userId: string, name: string): Promise<string[]> {
      return (await resolveNames(database.read, userId, name)).map((entity) => entity.name)
    },

    /** All names of all entities that the name may stand for, including itself. */
    async namesOf(userId: string, name: string): Promise<string[]> {
      return [...(await allNamesOf(database.read, userId, name)).values()]
    },

    list: (userId: string) => listAliases(database.read, userId),

    async remove(userId: string, alias: string, entity: string): Promise<boolean> {
      const { alias_key, entity_key } = linkOf(alias, entity)
      const removed = await database.write((writer) =>
        writer
          .deleteFrom('entity_aliases')
          .where('user_id', '=', userId)
          .where('alias_key', '=', alias_key)
          .where('entity_key', '=', entity_key)
          .executeTakeFirst(),
      )
      return Number(removed.numDeletedRows) > 0
    },
  }
  return aliases
}

export function listAliases(reader: Reader, userId: string): Promise<{ alias: string; entity: string }[]> {
  return reader
    .selectFrom('entity_aliases')
    .select(['alias', 'entity'])
    .where('user_id', '=', userId)
    .orderBy('alias_key')
    .orderBy('entity_key')
    .execute()
}

/** In either direction: the user has names, and is never another name of someone. */
function linkOf(alias: string, entity: string): AliasLink {
  const [from, to] = entityKey(alias) === 'user' ? [entity, alias] : [alias, entity]
  const [alias_key, entity_key] = [entityKey(cleanName(from)), entityKey(cleanName(to))]
  return { alias: cleanName(from), alias_key, entity: entity_key === 'user' ? 'user' : cleanName(to), entity_key }
}

function cleanName(name: string): string {
  return requireLine(name, { what: 'A name', longest: maxNameLength })
}
