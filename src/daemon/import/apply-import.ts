import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { sha256 } from '../../base/hash.ts'
import { writeFileAtomically } from '../../base/safe-file.ts'
import { loadSkillFolder } from '../../tools/skills/load-skill-folder.ts'
import type { HomePaths } from '../home-paths.ts'
import { findPlace, isStarter } from './find-place.ts'
import type { ImportPlan, LeftOut, PlannedFile, PlannedSkill } from './import-plan.ts'
import type { ImportRecord, WrittenFile } from './import-record.ts'

export interface AppliedImport {
  record: ImportRecord
  /** Where the record lies. */
  recordPath: string
  /** What was in the way after all. */
  leftOut: LeftOut[]
}

/**
 * Does what was shown. Nothing that is there is overwritten: places are looked for once more, and made only where there is
 * nothing. What was written stands in the record even where the import ends half way.
 */
export async function applyImport(
  plan: ImportPlan,
  { paths, clock, signal }: { paths: HomePaths; clock: Clock; signal: AbortSignal },
): Promise<AppliedImport> {
  const at = new Date(clock.now()).toISOString()
  const recordPath = join(paths.backups, `import-${at.replaceAll(/[:.]/g, '-')}-${randomUUID().slice(0, 8)}.json`)
  const record: ImportRecord = { kind: plan.kind, from: plan.from, at, written: [] }
  const leftOut: LeftOut[] = []
  try {
    for (const file of plan.files) {
      signal.throwIfAborted()
      const written = await writeText(paths.workspace, file)
      if (written === undefined) leftOut.push({ path: file.from, reason: 'something came in its way' })
      else if (written !== 'same') record.written.push(written)
    }
    for (const skill of plan.skills) {
      signal.throwIfAborted()
      const written = await writeSkill(paths.workspace, skill)
      if (written.ok) record.written.push(...written.files)
      else leftOut.push({ path: skill.from, reason: written.reason })
    }
  } finally {
    await writeFileAtomically(recordPath, `${JSON.stringify(record, null, 2)}\n`)
  }
  return { record, recordPath, leftOut }
}

async function writeText(workspace: string, { wanted, text }: PlannedFile): Promise<WrittenFile | 'same' | undefined> {
  const place = await findPlace(workspace, { wanted, text })
  if (!place) return undefined
  const { to, way } = place
  if (way === 'same') return 'same'
  const path = join(workspace, to)
  if (way === 'starter') {
    if (!isStarter(wanted, await readFile(path, 'utf8'))) return undefined
    await writeFileAtomically(path, text)
  } else {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    if (!(await unlessThere(writeFile(path, text, { flag: 'wx', mode: 0o600 })))) return undefined
  }
  return { path: to, sha256: sha256(text), way }
}

/** Whole or not at all: a running Familiar looks at the folder while it is written. */
async function writeSkill(
  workspace: string,
  { from, to, hash }: PlannedSkill,
): Promise<{ ok: true; files: WrittenFile[] } | { ok: false; reason: string }> {
  const { folder } = await loadSkillFolder({ directory: from, origin: 'imported', problem: null })
  if (folder?.hash !== hash) return { ok: false, reason: 'it has changed meanwhile' }
  const target = join(workspace, to)
  const draft = join(dirname(target), `.draft-${randomUUID()}`)
  const files: WrittenFile[] = []
  await mkdir(draft, { recursive: true, mode: 0o700 })
  try {
    for (const { path, bytes, isExecutable } of folder.files) {
      await mkdir(dirname(join(draft, path)), { recursive: true, mode: 0o700 })
      await writeFile(join(draft, path), bytes, { flag: 'wx', mode: isExecutable ? 0o700 : 0o600 })
      files.push({ path: join(to, path), sha256: sha256(bytes), way: 'new' })
    }
    if (!(await unlessThere(mkdir(target, { mode: 0o700 })))) return { ok: false, reason: 'something came in its way' }
    await rename(draft, target)
    return { ok: true, files }
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

async function unlessThere(making: Promise<unknown>): Promise<boolean> {
  try {
    await making
    return true
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') return false
    throw cause
  }
}
