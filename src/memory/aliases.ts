import type { Database, Writer } from '../storage/database.ts'
import type { EntityAliasRow } from '../storage/tables.ts'
import { requireLine } from './clean-line.ts'
import { entityKey } from './fold-text.ts'
import { allNamesOf, resolveNames } from './resolve-names.ts'

/**
 * Other names of the people and things that a user speaks of. They resolve through each other: where `Bee` is Bea and
 * `Bea` is Beatrice, `Bee` is Beatrice. Two people may share a name: then it resolves to both.
 */
export interface Aliases {
  /** False where it was known. A circle is no error: all its names are one. */
  add(userId: string, alias: string, entity: string): Promise<boolean>
  addIn(writer: Writer, userId: string, alias: string, entity: string): Promise<boolean>
  /** Every entity that the name may stand for, as last named; the name itself where it is nobody's alias. */
  resolve(userId: string, name: string): Promise<string[]>
  /** All names of all entities that the name may stand for, the name itself included. */
  namesOf(userId: string, name: string): Promise<string[]>
  list(userId: string): Promise<{ alias: string; entity: string }[]>
  remove(userId: string, alias: string, entity: string): Promise<boolean>
}

const longestName = 200

export function createAliases({ database }: { database: Database }): Aliases {
  const aliases: Aliases = {
    add: (userId, alias, entity) => database.write((writer) => aliases.addIn(writer, userId, alias, entity)),

    async addIn(writer, userId, alias, entity) {
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

    async resolve(userId, name) {
      return (await resolveNames(database.read, userId, name)).map((entity) => entity.name)
    },

    async namesOf(userId, name) {
      return [...(await allNamesOf(database.read, userId, name)).values()]
    },

    async list(userId) {
      return await database.read
        .selectFrom('entity_aliases')
        .select(['alias', 'entity'])
        .where('user_id', '=', userId)
        .orderBy('alias_key')
        .orderBy('entity_key')
        .execute()
    },

    async remove(userId, alias, entity) {
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

/** Whichever way round they are told: the user is called by names, and is nobody's other name. */
function linkOf(alias: string, entity: string): Pick<EntityAliasRow, 'alias' | 'alias_key' | 'entity' | 'entity_key'> {
  const [from, to] = entityKey(alias) === 'user' ? [entity, alias] : [alias, entity]
  const [alias_key, entity_key] = [entityKey(cleanName(from)), entityKey(cleanName(to))]
  return { alias: cleanName(from), alias_key, entity: entity_key === 'user' ? 'user' : cleanName(to), entity_key }
}

function cleanName(name: string): string {
  return requireLine(name, { what: 'A name', longest: longestName })
}
