import { type KyselyPlugin, type RootOperationNode, TableNode } from 'kysely'
import type { Database, Writer } from './database.ts'

/**
 * The same database; `onWritten` is told, after each commit, which tables the unit wrote to by the query builder. (What it
 * wrote in SQL of its own is not seen.)
 */
export function watchTables<Opened extends Database>(
  database: Opened,
  onWritten: (tables: ReadonlySet<string>) => void,
): Opened {
  return {
    ...database,
    async write(unit, options) {
      let tables = new Set<string>()
      const result = await database.write((writer) => {
        // The unit may be run again from its start.
        tables = new Set()
        return unit(writer.withPlugin(noteTables(tables)) as Writer)
      }, options)
      if (tables.size > 0) onWritten(tables)
      return result
    },
  }
}

function noteTables(tables: Set<string>): KyselyPlugin {
  return {
    transformQuery({ node }) {
      const name = writtenTable(node)
      if (name !== undefined) tables.add(name)
      return node
    },
    transformResult: async ({ result }) => result,
  }
}

function writtenTable(node: RootOperationNode): string | undefined {
  const table =
    node.kind === 'InsertQueryNode'
      ? node.into
      : node.kind === 'UpdateQueryNode'
        ? node.table
        : node.kind === 'DeleteQueryNode'
          ? node.from.froms[0]
          : undefined
  return table && TableNode.is(table) ? table.table.identifier.name : undefined
}
