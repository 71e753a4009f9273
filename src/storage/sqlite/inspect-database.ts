import type { DatabaseSync } from 'node:sqlite'
import { meansDamage } from './sqlite-error.ts'

/** `quick` skips comparing indexes with their tables, which reads all of both. */
export type InspectionDepth = 'quick' | 'full'

/**
 * Problems of the file, for display; an empty list means a sound database. Blocks until the whole file is read. Both
 * depths include SQLite's own check of the full-text index.
 */
export function inspectDatabase(raw: DatabaseSync, depth: InspectionDepth): string[] {
  try {
    const pragma = depth === 'quick' ? 'quick_check' : 'integrity_check'
    const structure = raw.prepare(`pragma ${pragma}(20)`).all()
    const problems = structure.flatMap((row) => Object.values(row).map(String)).filter((line) => line !== 'ok')
    const orphans = raw.prepare('pragma foreign_key_check').all()
    for (const orphan of orphans.slice(0, 20)) {
      problems.push(`${orphan.table} row ${orphan.rowid} refers to a missing row of ${orphan.parent}`)
    }
    return problems
  } catch (error) {
    // Some damage stops the check itself.
    if (meansDamage(error)) return [(error as Error).message]
    throw error
  }
}
