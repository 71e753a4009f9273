import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import { writeFileAtomically } from '../../base/safe-file.ts'
import { homePaths } from '../../daemon/home-paths.ts'

/**
 * How far an update has come, written before each step so that the next one can tell what was interrupted:
 * `trying` has changed nothing, from `changing` on the program may be either version, and `returning` is on the way back.
 */
const journalSchema = z.object({
  from: z.string(),
  to: z.string(),
  phase: z.enum(['trying', 'changing', 'returning']),
  /** The database as the old version left it; null where there was none yet. */
  snapshot: z.string().nullable(),
  pid: z.int().positive(),
  identity: z.string(),
})
export type UpdateJournal = z.infer<typeof journalSchema>

export function readJournal(home: string): UpdateJournal | undefined {
  try {
    const parsed = parseJson(readFileSync(pathOf(home), 'utf8'), journalSchema)
    return parsed.ok ? parsed.value : undefined
  } catch {
    return undefined
  }
}

export async function writeJournal(home: string, journal: UpdateJournal): Promise<void> {
  await writeFileAtomically(pathOf(home), `${JSON.stringify(journal)}\n`)
}

export async function removeJournal(home: string): Promise<void> {
  await rm(pathOf(home), { force: true })
}

function pathOf(home: string): string {
  return join(homePaths(home).run, 'update.json')
}
