import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { hasCode, readBundledText, writeFileAtomically } from '../../base/files.ts'
import { sha256 } from '../../base/ids.ts'
import { loadSkillFolder } from '../../custom-tools/skill-folders.ts'
import { isInside } from '../../memory/files/index-files.ts'
import { starterFiles } from '../home.ts'
import type { HomePaths } from '../home-paths.ts'

/**
 * Performs the shown plan. Nothing existing is overwritten: places are checked again, and created only if free. Written
 * files are in the record even if the import ends early. `leftOut` lists conflicts that came up meanwhile.
 */
export async function applyImport(
  plan: ImportPlan,
  { paths, clock, signal }: { paths: HomePaths; clock: Clock; signal: AbortSignal },
) {
  const at = new Date(clock.now()).toISOString()
  const recordPath = join(paths.backups, `import-${at.replaceAll(/[:.]/g, '-')}-${randomUUID().slice(0, 8)}.json`)
  const record: ImportRecord = { kind: plan.kind, from: plan.from, at, written: [] }
  const leftOut: LeftOut[] = []
  try {
    for (const file of plan.files) {
      signal.throwIfAborted()
      const written = await writeText(paths.workspace, file)
      if (written === undefined) leftOut.push({ path: file.from, reason: 'a file appeared in its place' })
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

/** All or nothing: a running Familiar watches the folder while it is written. */
async function writeSkill(
  workspace: string,
  { from, to, hash }: PlannedSkill,
): Promise<{ ok: true; files: WrittenFile[] } | { ok: false; reason: string }> {
  const { folder } = await loadSkillFolder({ directory: from, origin: 'imported', problem: null })
  if (folder?.hash !== hash) return { ok: false, reason: 'it has changed in the meantime' }
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
    if (!(await unlessThere(mkdir(target, { mode: 0o700 }))))
      return { ok: false, reason: 'a file appeared in its place' }
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
    if (hasCode(cause, 'EEXIST')) return false
    throw cause
  }
}

const maxBeside = 100

/** A free place in the workspace for a text. Undefined if there is none. */
export async function findPlace(
  workspace: string,
  { wanted, text }: { wanted: string; text: string },
): Promise<{ to: string; way: ImportWay } | undefined> {
  const found = await readPlace(join(workspace, wanted))
  if (found === 'free') return { to: wanted, way: 'new' }
  if (found.text === text) return { to: wanted, way: 'same' }
  if (isStarter(wanted, found.text)) return { to: wanted, way: 'starter' }
  const ending = extname(wanted)
  const stem = wanted.slice(0, wanted.length - ending.length)
  for (let number = 1; number <= maxBeside; number += 1) {
    const to = `${stem}.imported${number === 1 ? '' : `-${number}`}${ending}`
    const there = await readPlace(join(workspace, to))
    if (there === 'free') return { to, way: 'beside' }
    if (there.text === text) return { to, way: 'same' }
  }
  return undefined
}

/** An unreadable file counts as existing. */
async function readPlace(path: string): Promise<'free' | { text: string | undefined }> {
  try {
    return { text: await readFile(path, 'utf8') }
  } catch (cause) {
    return hasCode(cause, 'ENOENT') ? 'free' : { text: undefined }
  }
}

function isStarter(name: string, text: string | undefined): boolean {
  const starter = starterTextOf(name)
  return starter !== undefined && text?.trim() === starter
}

function starterTextOf(name: string): string | undefined {
  if (!starterFiles.some((file) => file === name)) return undefined
  return readBundledText(new URL(`../starter/${name}`, import.meta.url))
}

export type ImportKind = 'openclaw' | 'hermes'

/**
 * The action for a file. `starter`: replaces an untouched starter file. `beside`: the name is taken, so it gets another
 * name. `same`: it already exists with the same content.
 */
export type ImportWay = 'new' | 'starter' | 'beside' | 'same'

export interface PlannedFile {
  from: string
  /** Its path in the workspace before conflicts are resolved. */
  wanted: string
  to: string
  way: ImportWay
  text: string
  notes: readonly string[]
}

export interface PlannedSkill {
  name: string
  from: string
  to: string
  /** Over all its content: the checked files are the copied ones. */
  hash: string
  files: number
}

export interface LeftOut {
  path: string
  reason: string
}

/** Everything that an import would do. Nothing is written before the user has seen it (IMPORT-1). */
export interface ImportPlan {
  kind: ImportKind
  from: string
  files: readonly PlannedFile[]
  skills: readonly PlannedSkill[]
  leftOut: readonly LeftOut[]
}

export type Planning = { ok: true; plan: ImportPlan } | { ok: false; problem: string }

/** The files that an import has written, so that it can be undone. */
export const importRecordSchema = z.object({
  kind: z.enum(['openclaw', 'hermes']),
  from: z.string(),
  at: z.string(),
  written: z.array(
    z.object({
      /** Inside the workspace. */
      path: z.string(),
      /** The hash of the written content: files that changed since are not removed. */
      sha256: z.string(),
      way: z.enum(['new', 'starter', 'beside']),
    }),
  ),
})
type ImportRecord = z.infer<typeof importRecordSchema>
type WrittenFile = ImportRecord['written'][number]

/** Removes files of an import that have not changed since; the others belong to the user now, and are kept. */
export async function undoImport(record: ImportRecord, workspace: string) {
  const undone: { removed: string[]; kept: string[] } = { removed: [], kept: [] }
  for (const file of record.written.toReversed()) {
    const path = join(workspace, file.path)
    // The record is an ordinary file, which may have been modified.
    if (path === workspace || !isInside(workspace, path)) continue
    const content = await readFile(path).catch(() => undefined)
    if (content === undefined) continue
    if (sha256(content) !== file.sha256) undone.kept.push(file.path)
    else {
      await takeAway(workspace, file)
      undone.removed.push(file.path)
    }
  }
  return undone
}

async function takeAway(workspace: string, { path, way }: WrittenFile): Promise<void> {
  const starter = way === 'starter' ? starterTextOf(path) : undefined
  if (starter !== undefined) return await writeFileAtomically(join(workspace, path), `${starter}\n`)
  await rm(join(workspace, path))
  // Folders that are empty now; those of the home itself stay.
  try {
    for (let folder = dirname(path); folder.includes('/'); folder = dirname(folder))
      await rmdir(join(workspace, folder))
  } catch {
    // Not empty.
  }
}
