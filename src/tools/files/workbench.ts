import { isUtf8 } from 'node:buffer'
import { existsSync } from 'node:fs'
import { lstat, readdir, rm, utimes } from 'node:fs/promises'
import { basename, dirname, join, posix } from 'node:path'
import { type Clock, dayOf, formatDay, sleep } from '../../base/clock.ts'
import { ensurePrivateDirectory, hasCode } from '../../base/files.ts'
import { sha256 } from '../../base/ids.ts'
import { mediaTypeOf } from '../../base/media-types.ts'
import { oneLine, plural, toDisplayText } from '../../base/text.ts'
import type { Label, MediaPart } from '../../protocol/messages.ts'
import type { Sandbox, SandboxCommand, SandboxMount, SandboxOutcome } from '../../sandbox/sandbox.ts'
import type { ToolContext, ToolOutcome } from '../tool.ts'
import type { AssetActor, AssetFailure } from './assets.ts'
import { describeSystemError, type FileBounds, inFolderOf, locateFile, type MakesPrompt } from './file-backend.ts'
import { type Assets, parseAddress, type UntrustedFiles } from './open-assets.ts'
import {
  type CopyChanges,
  type CopyLimits,
  clear,
  createWorkingCopy,
  measure,
  stampOf,
  type WorkingCopy,
  type WrittenFile,
} from './working-copy.ts'

const workspacePlace = '/workspace'
const scratchPlace = '/scratch'

type WorkCommand = Omit<SandboxCommand, 'workingDirectory' | 'isWritable' | 'signal'>

export interface FinishedWork {
  /** Null: it was stopped because it wrote too much, and nothing that it wrote was kept. */
  outcome: SandboxOutcome | null
  /** Sentences for the model: what was kept and what was not. */
  notes: string[]
  /** Goes into the outcome of the tool. */
  kept: Pick<ToolOutcome, 'media' | 'removedFiles' | 'label' | 'isPrivate'>
}

export interface WorkLimits extends CopyLimits {
  /** Written by one run, beside what was there. */
  growthBytes: number
  scratchBytes: number
  entries: number
}

const megabyte = 1024 * 1024
const usualLimits: WorkLimits = {
  files: 20_000,
  bytes: 1024 * megabyte,
  fileBytes: 200 * megabyte,
  growthBytes: 256 * megabyte,
  scratchBytes: 512 * megabyte,
  entries: 60_000,
}

const maxKeptFiles = 1_000
const maxListedFiles = 20
const maxShownBytes = 50 * megabyte
/** Text up to this size has versions. */
const maxVersionedBytes = 2_000_000
const lookEveryMs = 250
const scratchLifeMs = 7 * 24 * 60 * 60_000
const replacedLifeMs = 30 * 24 * 60 * 60_000
const tidyEveryMs = 60 * 60_000
const maxIdleCopies = 2

export type Workbench = ReturnType<typeof createWorkbench>

/**
 * Runs programs on the user's files: in the sandbox, with a copy of the workspace at `/workspace` and a scratch folder
 * of the conversation at `/scratch`. When the program has ended, its changes are made to the workspace by this process,
 * file by file and by the rules for the agent: no link is followed, prompt files stay, earlier texts are versions.
 */
export function createWorkbench(dependencies: {
  sandbox: Pick<Sandbox, 'run' | 'makeFolder'>
  assets: Pick<Assets, 'write' | 'remove' | 'trustOf'>
  untrusted: Pick<UntrustedFiles, 'add'>
  boundsOf(userId: string): FileBounds
  makesPrompt: MakesPrompt
  /** Further folders that are mounted, read-only. */
  foldersOf(userId: string): readonly SandboxMount[]
  agentOf(userId: string, sessionId: string): Promise<string>
  putMedia(file: { name: string; mediaType: string; data: Uint8Array }): Promise<MediaPart>
  /** Those of the sessions that are still in use. */
  activeSessions(ids: readonly string[]): Promise<ReadonlySet<string>>
  /** A private folder for earlier contents of files that have no versions. */
  replacedDirectory: string
  clock: Clock
  timeZone: string
  limits?: Partial<WorkLimits>
}) {
  const { sandbox, boundsOf, makesPrompt, clock } = dependencies
  const limits = { ...usualLimits, ...dependencies.limits }
  /** Copies that no run uses, by user; the last used one is the last. */
  const idle = new Map<string, WorkingCopy[]>()
  const busy = new Set<string>()
  let tidiedAt = Number.NEGATIVE_INFINITY

  async function takeCopy(userId: string): Promise<WorkingCopy> {
    const free = idle.get(userId)?.pop()
    if (free) return free
    let number = 1
    const nameOf = () => `workspace-${sha256(userId).slice(0, 12)}-${number}`
    const idleFolders = new Set([...idle.values()].flat().map(({ folder }) => basename(folder)))
    while (busy.has(nameOf()) || idleFolders.has(nameOf())) number += 1
    const name = nameOf()
    busy.add(name)
    try {
      return await createWorkingCopy({ folder: await sandbox.makeFolder(name), limits })
    } catch (cause) {
      busy.delete(name)
      throw cause
    }
  }

  async function putBack(userId: string, copy: WorkingCopy): Promise<void> {
    busy.delete(basename(copy.folder))
    const free = idle.get(userId) ?? []
    if (free.length >= maxIdleCopies) return await rm(copy.folder, { recursive: true, force: true })
    idle.set(userId, [...free, copy])
  }

  async function scratchOf(sessionId: string): Promise<string> {
    const { path } = await sandbox.makeFolder(scratchName(sessionId))
    const now = new Date(clock.now())
    await utimes(path, now, now)
    if (clock.now() - tidiedAt >= tidyEveryMs) {
      tidiedAt = clock.now()
      await tidy(dirname(path), sessionId)
    }
    return path
  }

  /** Removes scratch folders of archived or forgotten conversations, and old contents of replaced files. */
  async function tidy(place: string, currentId: string): Promise<void> {
    const ids = (await readdir(place)).flatMap((name) => scratchOwner(name) ?? [])
    const active = await dependencies.activeSessions(ids)
    for (const id of ids.filter((id) => id !== currentId)) {
      const path = join(place, scratchName(id))
      const found = await lstat(path).catch(() => undefined)
      if (found && active.has(id) && clock.now() - found.mtimeMs < scratchLifeMs) continue
      await rm(path, { recursive: true, force: true })
    }
    for (const day of await readdir(dependencies.replacedDirectory).catch(() => [])) {
      const at = Date.parse(day)
      if (!(clock.now() - at > replacedLifeMs)) continue
      await rm(join(dependencies.replacedDirectory, day), { recursive: true, force: true })
    }
  }

  /** Runs the program until it ends, or has written more than it may. */
  async function runWatched(command: SandboxCommand, folders: readonly { path: string; bytes: number }[]) {
    const stop = new AbortController()
    const ended = new AbortController()
    let full: string | undefined
    async function watch(): Promise<void> {
      while (!ended.signal.aborted) {
        await sleep(clock, lookEveryMs, ended.signal)
        for (const { path, bytes } of folders) {
          const { entries } = limits
          const found = await measure(path, { bytes, entries })
          if (found.bytes <= bytes && found.entries <= entries) continue
          full = path
          stop.abort(new Error('It wrote too much'))
          return
        }
      }
    }
    const watching = watch().catch(() => undefined)
    try {
      const outcome = await sandbox.run({ ...command, signal: AbortSignal.any([command.signal, stop.signal]) })
      // A short run may be over before it was looked at.
      for (const { path, bytes } of folders) {
        const { entries } = limits
        const found = await measure(path, { bytes, entries })
        if (found.bytes > bytes || found.entries > entries) full ??= path
      }
      return { outcome, full }
    } catch (cause) {
      if (full === undefined || command.signal.aborted) throw cause
      return { outcome: null, full }
    } finally {
      ended.abort()
      await watching
    }
  }

  async function run(command: WorkCommand, context: ToolContext): Promise<FinishedWork> {
    const { userId, sessionId, signal } = context
    const bounds = boundsOf(userId)
    const scratch = await scratchOf(sessionId)
    const scratchFolder = { path: scratch, bytes: limits.scratchBytes }
    const scratchMount = { source: scratch, target: scratchPlace, isWritable: true as const }
    const whole = { ...command, isWritable: true, signal }
    const root = await locateFile(bounds, '.')
    if (!root.ok) {
      // Only the owner has files.
      const mounts = [scratchMount, ...command.mounts]
      const ran = await runWatched({ ...whole, workingDirectory: scratchPlace, mounts }, [scratchFolder])
      return await scratchOnly(ran, scratch)
    }
    const copy = await takeCopy(userId)
    let isSound = false
    try {
      const { leftOut } = await copy.update(root.real)
      const before = await measure(copy.folder, { bytes: Number.MAX_SAFE_INTEGER, entries: Number.MAX_SAFE_INTEGER })
      const mounts = [
        { source: copy.folder, target: workspacePlace, isWritable: true as const },
        ...(await promptMounts(root.real, copy)),
        ...dependencies.foldersOf(userId),
        scratchMount,
        ...command.mounts,
      ]
      const folders = [{ path: copy.folder, bytes: before.bytes + limits.growthBytes }, scratchFolder]
      const { outcome, full } = await runWatched({ ...whole, workingDirectory: workspacePlace, mounts }, folders)
      if (full === scratch) {
        await clear(scratch)
        return refused(
          `${scratchPlace} may hold ${sizeOf(limits.scratchBytes)}. It was emptied; the workspace is unchanged`,
        )
      }
      if (full !== undefined) {
        return refused(
          `One run may add ${sizeOf(limits.growthBytes)} to ${workspacePlace}. Nothing that it wrote there was kept; the files are as they were before`,
        )
      }
      const notes =
        leftOut > 0 ? [`${plural(leftOut, 'file')} of the workspace did not fit into ${workspacePlace}.`] : []
      const work = await keep(await copy.changes(), context, copy)
      isSound = true
      // Names of files come from the program.
      return { outcome, notes: [...notes, ...work.notes].map((note) => oneLine(toDisplayText(note))), kept: work.kept }
    } finally {
      if (!isSound) await copy.reset()
      await putBack(userId, copy)
    }
  }

  async function scratchOnly(ran: { outcome: SandboxOutcome | null; full: string | undefined }, scratch: string) {
    if (ran.full === undefined) return { outcome: ran.outcome, notes: [], kept: {} }
    await clear(scratch)
    return refused(`${scratchPlace} may hold ${sizeOf(limits.scratchBytes)}. It was emptied`)
  }

  /** Prompt files, mounted over their copies so that a program gets an error at once. */
  async function promptMounts(root: string, copy: WorkingCopy): Promise<SandboxMount[]> {
    const names = await readdir(copy.folder, { withFileTypes: true })
    const mounts: SandboxMount[] = []
    for (const { name } of names) {
      if (!(await makesPrompt({ inWorkspace: [name], real: join(root, name) }))) continue
      mounts.push({ source: join(root, name), target: `${workspacePlace}/${name}` })
    }
    return mounts
  }

  /** Makes the changes of the code to the workspace. A change that cannot be made becomes a note. */
  async function keep(changes: CopyChanges, context: ToolContext, copy: WorkingCopy) {
    const { userId, sessionId, seen } = context
    const agent = await dependencies.agentOf(userId, sessionId)
    const reader: AssetActor = { userId, author: 'agent', agent, trust: 'internal' }
    const notes = [...changes.notes]
    let isUntrusted = false
    for (const file of changes.used) {
      if (isUntrusted) break
      isUntrusted = (await dependencies.assets.trustOf(reader, file)) === 'untrusted'
    }
    const trust: Label = isUntrusted || seen.untrusted ? 'untrusted' : 'internal'
    const actor: AssetActor = { ...reader, trust }
    const media: MediaPart[] = []
    const listed: string[] = []
    const written = changes.written.slice(0, maxKeptFiles)
    if (changes.written.length > written.length) {
      notes.push(
        `${changes.written.length - written.length} more files were written and not kept: one run may change ${maxKeptFiles}. Use ${scratchPlace} for many files.`,
      )
    }
    for (const file of written) {
      const stored = await store(file, actor)
      if (!stored.ok) {
        notes.push(`${file.path} was not kept: ${stored.message}`)
        continue
      }
      if (stored.note) notes.push(stored.note)
      if (isHidden(stored.path)) continue
      listed.push(`${stored.path} (${file.bytes.length} bytes${file.before ? '' : ', new'})`)
      if (media.length >= maxListedFiles || file.bytes.length > maxShownBytes || file.bytes.length === 0) continue
      if (isOfficePart(copy.folder, file.path)) continue
      const name = posix.basename(stored.path)
      const part = await dependencies.putMedia({ name, mediaType: mediaTypeOf(name, file.bytes), data: file.bytes })
      media.push({ ...part, path: stored.path })
    }
    const removed: string[] = []
    for (const file of changes.removed.slice(0, maxKeptFiles)) {
      const gone = await remove(file, actor, copy)
      if (gone.ok) removed.push(file.path)
      else notes.push(`${file.path} was not removed: ${gone.message}`)
    }
    if (listed.length > 0) notes.unshift(`Files in the workspace: ${shortList(listed)}.`)
    if (removed.length > 0) notes.push(`Removed: ${shortList(removed)}.`)
    return {
      notes,
      kept: {
        isPrivate: true as const,
        ...(isUntrusted && { label: 'untrusted' as const }),
        ...(media.length > 0 && { media }),
        ...(removed.length > 0 && { removedFiles: removed }),
      },
    }
  }

  async function store(
    file: WrittenFile,
    actor: AssetActor,
  ): Promise<{ ok: true; path: string; note?: string } | AssetFailure> {
    const place = await placeFor(file, actor)
    if (!place.ok) return place
    const { path, note } = place
    const withNote = note === undefined ? {} : { note }
    const content = textOf(file.bytes)
    if (content !== undefined) {
      const written = await dependencies.assets.write(actor, { path, content })
      if (written.ok) return { ok: true, path: written.path, ...withNote }
      // Text that takes the place of a binary file.
      if (written.code !== 'binary' && written.code !== 'too_large') return written
    }
    const location = await locateFile(boundsOf(actor.userId), path)
    if (!location.ok) return location
    if (actor.trust === 'untrusted') await dependencies.untrusted.add(actor.userId, sha256(file.bytes))
    const stored = await inFolderOf(
      location,
      async (folder, name): Promise<{ ok: true; path: string } | AssetFailure> => {
        if (!(await folder.isInPlace())) return { ok: false, code: 'moved', message: 'its folder was moved.' }
        if (file.before) await folder.move(name, await replacedPath(path)).catch(ignoreMissing)
        await folder.write(name, file.bytes, file.isExecutable ? 0o700 : 0o600)
        return { ok: true, path: location.path }
      },
      { make: true },
    ).catch((cause: unknown): AssetFailure => describeSystemError(cause, path))
    return stored.ok ? { ...stored, ...withNote } : stored
  }

  /** Its own path, or another name beside it if the user has changed the file meanwhile. */
  async function placeFor(
    file: WrittenFile,
    actor: AssetActor,
  ): Promise<{ ok: true; path: string; note?: string } | AssetFailure> {
    const bounds = boundsOf(actor.userId)
    const address = parseAddress(file.path)
    if (!address.ok) return address
    if (address.scheme !== 'file') return { ok: false, code: 'invalid_path', message: 'its name is not allowed.' }
    const { dir, name, ext } = posix.parse(file.path)
    for (let number = 1; number <= 100; number += 1) {
      const path = number === 1 ? file.path : posix.join(dir, `${name}-${number}${ext}`)
      const location = await locateFile(bounds, path)
      if (!location.ok) return location
      // A link in the workspace that leads elsewhere, also inside of it, is not written through.
      if (location.inWorkspace?.join('/') !== path) {
        return { ok: false, code: 'outside', message: 'a link is in its place.' }
      }
      if (await makesPrompt(location)) {
        return { ok: false, code: 'protected', message: 'it is part of your own prompt: only the user can change it.' }
      }
      const stamp = await lstat(location.real).then(stampOf, () => null)
      if (stamp === null || (number === 1 && stamp === file.before?.stamp)) {
        if (number === 1) return { ok: true, path }
        return { ok: true, path, note: `${file.path} was changed meanwhile by someone else; this version is ${path}.` }
      }
    }
    return { ok: false, code: 'conflict', message: 'it was changed meanwhile by someone else.' }
  }

  async function remove(
    file: CopyChanges['removed'][number],
    actor: AssetActor,
    copy: WorkingCopy,
  ): Promise<{ ok: true } | AssetFailure> {
    const { path } = file
    const location = await locateFile(boundsOf(actor.userId), path)
    if (!location.ok) return location
    if (await makesPrompt(location)) {
      return { ok: false, code: 'protected', message: 'it is part of your own prompt: only the user can change it.' }
    }
    const stamp = await lstat(location.real).then(stampOf, () => null)
    if (stamp === null) return { ok: true }
    if (stamp !== file.before.stamp || location.inWorkspace?.join('/') !== path) {
      return { ok: false, code: 'conflict', message: 'it was changed meanwhile by someone else.' }
    }
    const removed = await dependencies.assets.remove(actor, { path })
    if (!removed.ok && removed.code !== 'binary' && removed.code !== 'too_large') return removed
    if (!removed.ok) {
      const moved = await inFolderOf(location, async (folder, name): Promise<{ ok: true } | AssetFailure> => {
        await folder.move(name, await replacedPath(path))
        return { ok: true }
      }).catch((cause: unknown): AssetFailure => describeSystemError(cause, path))
      if (!moved.ok) return moved
    }
    await removeEmptied(posix.dirname(path), actor.userId, copy)
    return { ok: true }
  }

  /** Folders that the code removed too. */
  async function removeEmptied(path: string, userId: string, copy: WorkingCopy): Promise<void> {
    if (path === '.' || (await copy.hasFolder(path))) return
    const location = await locateFile(boundsOf(userId), path)
    if (!location.ok || location.inWorkspace?.join('/') !== path) return
    const isGone = await inFolderOf(location, (folder, name) => folder.removeFolder(name)).then(
      () => true,
      () => false,
    )
    if (isGone) await removeEmptied(posix.dirname(path), userId, copy)
  }

  /** A new place for the earlier content of a file. */
  async function replacedPath(path: string): Promise<string> {
    const day = formatDay(dayOf(clock.now(), dependencies.timeZone))
    const folder = join(dependencies.replacedDirectory, day)
    await ensurePrivateDirectory(folder)
    const flat = path.replaceAll('/', '__').slice(-120)
    for (let number = 1; ; number += 1) {
      const target = join(folder, number === 1 ? flat : `${number}-${flat}`)
      if (!(await lstat(target).catch(() => undefined))) return target
    }
  }

  /** A file that a tool of this process made: it replaces nothing. Users without a workspace get it too. */
  async function add(file: { path: string; bytes: Uint8Array }, context: ToolContext): Promise<MediaPart> {
    const { userId, sessionId, seen } = context
    const agent = await dependencies.agentOf(userId, sessionId)
    const trust: Label = seen.untrusted ? 'untrusted' : 'internal'
    const asked = { ...file, before: null, isExecutable: false }
    const stored = await store(asked, { userId, author: 'agent', agent, trust })
    const name = posix.basename(stored.ok ? stored.path : file.path)
    const part = await dependencies.putMedia({ name, mediaType: mediaTypeOf(name, file.bytes), data: file.bytes })
    return stored.ok ? { ...part, path: stored.path } : part
  }

  return {
    run,
    add,
    async close(): Promise<void> {
      for (const { folder } of [...idle.values()].flat()) await rm(folder, { recursive: true, force: true })
      idle.clear()
    },
  }
}

/** A piece of an unpacked Office file, which is packed again: it is kept, but it is nothing to show. */
function isOfficePart(folder: string, path: string): boolean {
  const parent = posix.dirname(path)
  if (parent === '.') return false
  return existsSync(join(folder, parent, '[Content_Types].xml')) || isOfficePart(folder, parent)
}

function refused(reason: string): FinishedWork {
  return { outcome: null, notes: [`It was stopped because it wrote too much. ${reason}.`], kept: {} }
}

function ignoreMissing(cause: unknown): void {
  if (!hasCode(cause, 'ENOENT')) throw cause
}

const scratchPrefix = 'scratch-'

function scratchName(sessionId: string): string {
  return `${scratchPrefix}${sessionId.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`
}

function scratchOwner(name: string): string | undefined {
  return name.startsWith(scratchPrefix) ? name.slice(scratchPrefix.length) : undefined
}

/** The text of a file that can have versions. */
function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.length > maxVersionedBytes || !isUtf8(bytes) || bytes.includes(0)) return undefined
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

function isHidden(path: string): boolean {
  return path.split('/').some((name) => name.startsWith('.'))
}

function shortList(items: readonly string[]): string {
  const more = items.length - maxListedFiles
  return [...items.slice(0, maxListedFiles), ...(more > 0 ? [`and ${more} more`] : [])].join(', ')
}

function sizeOf(bytes: number): string {
  return bytes >= megabyte ? `${Math.round(bytes / megabyte)} MB` : `${Math.round(bytes / 1024)} KB`
}
