import { isUtf8 } from 'node:buffer'
import { isAbsolute, join, resolve } from 'node:path'
import { namesBelow, type OpenFolder, openFolder, realPathOf } from '../../base/files.ts'
import type { Label } from '../../protocol/messages.ts'
import {
  type AssetActor,
  type AssetBackend,
  type AssetChange,
  type AssetChanged,
  type AssetEntry,
  type AssetFailure,
  type AssetList,
  type AssetPlace,
  failure,
  type StoredAsset,
  tooLarge,
} from './assets.ts'

/** The bytes of a file that is not text, within the same bounds. `too_large` if it has more than `maxBytes`. */
export async function readFileBytes(
  bounds: FileBounds,
  { path, maxBytes }: { path: string; maxBytes: number },
): Promise<{ ok: true; path: string; data: Uint8Array; trust: Label } | AssetFailure> {
  const location = await locateFile(bounds, path)
  if (!location.ok) return location
  const read = await inFolderOf(location, (folder, name) =>
    readPlainFile(folder, name, { path: location.path, maxBytes }),
  ).catch((cause: unknown) => describeSystemError(cause, location.path))
  return read.ok ? { ok: true, path: location.path, data: read.bytes, trust: location.root.trust } : read
}

/** Opens the folder of a file, step by step from its root, while the work runs. */
export async function inFolderOf<T>(
  { root, names, path }: FileLocation,
  work: (folder: OpenFolder, name: string) => Promise<T>,
  options: { make?: boolean } = {},
): Promise<T | AssetFailure> {
  const name = names.at(-1)
  if (name === undefined) return failure('is_directory', `${path} is a folder.`)
  const folder = await openFolder(root.path, names.slice(0, -1), options)
  try {
    return await work(folder, name)
  } finally {
    await folder.close()
  }
}

interface FileRoot {
  path: string
  /** The trust of its files if none is recorded. */
  trust: Label
}

interface FileLocation {
  ok: true
  root: FileRoot
  /** The path below the root; empty for the root itself. */
  names: string[]
  real: string
  /** Relative if it is in the workspace. */
  path: string
  /** The path below the workspace, if it is inside. */
  inWorkspace: string[] | undefined
}

export interface FileBounds {
  /** The first is the workspace: the base of relative paths. */
  roots: readonly FileRoot[]
  /** Closed folders, also inside a root; a root inside one of them is open again. */
  closed: readonly string[]
}

// Reveals nothing about that path, not even whether it exists.
const outside = failure('outside', 'That path is outside the accessible folders.')

/** Resolves a name. Nothing outside the roots is accessed: the written path must lie in one, then its link target. */
export async function locateFile(bounds: FileBounds, path: string): Promise<FileLocation | AssetFailure> {
  const [workspace] = bounds.roots
  if (!workspace) return outside
  if (path === '~' || path.startsWith('~/')) {
    return failure('invalid_path', '~ is not supported here. Use a path in the workspace, or an absolute one.')
  }
  const written = isAbsolute(path) ? resolve(path) : resolve(workspace.path, path)
  const roots = await Promise.all(bounds.roots.map(async (root) => ({ ...root, path: await realOrWritten(root.path) })))
  const closed = await Promise.all(bounds.closed.map(realOrWritten))
  if (![...bounds.roots, ...roots].some((root) => namesBelow(root.path, written))) return outside
  const real = await realPathOf(written).catch((cause: NodeJS.ErrnoException) => cause)
  if (real instanceof Error) return describeSystemError(real, path)
  // The innermost folder decides: a closed folder inside a root is closed, and vice versa.
  const [holder] = [...roots, ...closed.map((folder) => ({ path: folder, trust: undefined }))]
    .filter((folder) => namesBelow(folder.path, real) !== undefined)
    .sort((one, other) => other.path.length - one.path.length)
  if (holder?.trust === undefined) return outside
  const root = { path: holder.path, trust: holder.trust }
  const home = roots[0]?.path ?? workspace.path
  const inWorkspace = namesBelow(home, real)
  return {
    ok: true,
    root,
    names: namesBelow(root.path, real) ?? [],
    real,
    path: inWorkspace ? inWorkspace.join('/') || '.' : real,
    inWorkspace,
  }
}

/** An unreadable root must not make the others unreachable. */
function realOrWritten(path: string): Promise<string> {
  return realPathOf(path).catch(() => path)
}

/** Converts a system error to a failure; bugs and disk errors are rethrown. */
export function describeSystemError(cause: unknown, path: string): AssetFailure {
  switch (cause instanceof Error && 'code' in cause ? cause.code : undefined) {
    case 'ENOENT':
      return failure('not_found', `${path} does not exist.`)
    case 'ENOTDIR':
    case 'ELOOP':
      return failure('not_regular', `A part of ${path} is not a plain folder.`)
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return failure('no_permission', `No permission for ${path}.`)
    case 'ENAMETOOLONG':
    case 'EINVAL':
    case 'EILSEQ':
      return failure('invalid_path', 'The path is too long or not valid on this machine.')
    default:
      throw cause
  }
}

const maxEntries = 1_000
const maxNames = 50_000
const maxDepth = 32

/** Plain files only: links are not followed, hidden files and installed packages are skipped. Throws system errors. */
async function listFiles(location: FileLocation, bounds: FileBounds): Promise<AssetList | AssetFailure> {
  const entries: AssetEntry[] = []
  let looked = 0
  let isCut = false
  const shown = (names: readonly string[]) =>
    location.inWorkspace ? join(...location.inWorkspace, ...names) : join(location.real, ...names)

  async function add(folder: OpenFolder, name: string, names: readonly string[]): Promise<'folder' | undefined> {
    const stat = await folder.look(name).catch(() => undefined)
    if (stat?.isDirectory()) return 'folder'
    if (!stat?.isFile() || stat.nlink > 1) return undefined
    const uri = `file://${join(location.real, ...names)}`
    entries.push({ uri, path: shown(names), bytes: stat.size, modifiedAt: Math.trunc(stat.mtimeMs) })
    return undefined
  }

  async function walk(folder: OpenFolder, names: readonly string[]): Promise<void> {
    for (const name of (await folder.names()).sort()) {
      if (entries.length >= maxEntries || looked >= maxNames) {
        isCut = true
        return
      }
      looked += 1
      if (name.startsWith('.') || name === 'node_modules') continue
      const way = [...names, name]
      if ((await add(folder, name, way)) !== 'folder') continue
      if (way.length > maxDepth || !(await locateFile(bounds, join(location.real, ...way))).ok) continue
      const inner = await folder.child(name).catch(() => undefined)
      if (!inner) continue
      try {
        await walk(inner, way)
      } finally {
        await inner.close()
      }
    }
  }

  const parent = await openFolder(location.root.path, location.names.slice(0, -1))
  try {
    const name = location.names.at(-1)
    if (name === undefined) await walk(parent, [])
    else if ((await parent.look(name)).isDirectory()) {
      const folder = await parent.child(name)
      await walk(folder, []).finally(folder.close)
    } else await add(parent, name, [])
  } finally {
    await parent.close()
  }
  entries.sort((one, other) => (one.path < other.path ? -1 : 1))
  return { ok: true, entries, isCut }
}

/** The files of the agent's own prompt. The user may write them, the agent may not (SEC-4). */
const promptFiles = ['SOUL.md', 'AGENTS.md', 'USER.md', 'IDENTITY.md', 'TOOLS.md', 'HEARTBEAT.md', 'MEMORY.md']
const promptFolders = ['skills']

// File systems that fold case and forms, or drop invisible characters, treat all of these as one name.
const ignorable = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu

function fold(name: string): string {
  return name.normalize('NFKC').replace(ignorable, '').toUpperCase().toLowerCase().normalize('NFKC').trim()
}

const foldedFiles = new Set(promptFiles.map(fold))
const foldedFolders = new Set(promptFolders.map(fold))

/** `names` is the path below the workspace; `others` are further prompt files of the config. */
function isPromptFile(names: readonly string[], others: readonly string[] = []): boolean {
  const [first = ''] = names
  if (foldedFolders.has(fold(first))) return true
  const way = names.map(fold).join('/')
  return foldedFiles.has(way) || others.some((other) => other.split('/').filter(Boolean).map(fold).join('/') === way)
}

/** Whether a file, or a folder, is part of the agent's own prompt. */
export type MakesPrompt = (location: Pick<FileLocation, 'inWorkspace' | 'real'>) => Promise<boolean>

export function createMakesPrompt(dependencies: {
  promptFiles?: (() => readonly string[]) | undefined
  /** Folders anywhere whose files can be put into the prompt. */
  promptFolders?: (() => readonly string[]) | undefined
}): MakesPrompt {
  const { promptFiles = () => [], promptFolders = () => [] } = dependencies
  return async ({ inWorkspace, real }) => {
    if (inWorkspace && isPromptFile(inWorkspace, promptFiles())) return true
    const folders = await Promise.all(promptFolders().map(realOrWritten))
    return folders.some((folder) => namesBelow(folder, real) !== undefined)
  }
}

type FileStat = Awaited<ReturnType<OpenFolder['look']>>

/** The type of a name in an open folder. A file with two names may come from outside. */
async function lookAtFile(
  folder: OpenFolder,
  name: string,
  path: string,
): Promise<{ ok: true; stat: FileStat } | AssetFailure> {
  const stat = await folder.look(name)
  if (stat.isDirectory()) return failure('is_directory', `${path} is a folder.`)
  if (!stat.isFile()) return failure('not_regular', `${path} is not a plain file.`)
  if (stat.nlink > 1) return failure('linked', `${path} is a hard link with several names, which is not supported.`)
  return { ok: true, stat }
}

/** The bytes of a plain file, checked to be below its root before and after. Throws a system error if it is gone. */
async function readPlainFile(
  folder: OpenFolder,
  name: string,
  { path, maxBytes }: { path: string; maxBytes: number },
): Promise<{ ok: true; bytes: Uint8Array; stat: FileStat } | AssetFailure> {
  const seen = await lookAtFile(folder, name, path)
  if (!seen.ok) return seen
  const { stat, bytes } = await folder.read(name, maxBytes)
  // It may have been replaced between the check and opening, or its folder moved.
  const isSame = stat.isFile() && stat.nlink <= 1 && stat.ino === seen.stat.ino && stat.dev === seen.stat.dev
  if (!isSame || !(await folder.isInPlace())) return moved(path)
  return bytes ? { ok: true, bytes, stat } : tooLarge(path, maxBytes)
}

function moved(path: string): AssetFailure {
  return failure('moved', `${path} was moved or replaced at this moment. Try again.`)
}

/** The old content is kept as a version before it is replaced: larger files are not replaced. */
const maxReplacedBytes = 2_000_000

type StoredFile = ({ ok: true } & StoredAsset & { mode: number }) | AssetFailure

/** Files of the allowed folders. Text only: other files are neither shown nor replaced. */
export function createFileBackend(dependencies: {
  boundsOf(userId: string): FileBounds
  makesPrompt: MakesPrompt
}): AssetBackend {
  const { boundsOf, makesPrompt } = dependencies

  /** Resolved for each call: the current state decides about access. */
  async function reach<T>(
    actor: AssetActor,
    place: AssetPlace,
    work: (location: FileLocation) => Promise<T | AssetFailure>,
  ): Promise<T | AssetFailure> {
    const location = await locateFile(boundsOf(actor.userId), pathOf(place))
    if (!location.ok) return location
    // It became a link after it was named: versions would be recorded for another file.
    if (location.real !== pathOf(place)) return moved(place.path)
    return await work(location).catch((cause: unknown) => describeSystemError(cause, place.path))
  }

  return {
    scheme: 'file',
    async locate(actor, path) {
      const location = await locateFile(boundsOf(actor.userId), path)
      return location.ok
        ? { ok: true, uri: `file://${location.real}`, path: location.path, folderTrust: location.root.trust }
        : location
    },
    read: (actor, place, maxBytes) =>
      reach(actor, place, async (location) => {
        const read = await inFolderOf(location, (folder, name) => readText(folder, name, { location, maxBytes }))
        if (!read.ok) return read
        const { content, trust, modifiedAt } = read
        return { ok: true, content, trust, modifiedAt }
      }),
    stat: (actor, place) =>
      reach(actor, place, (location) =>
        inFolderOf(location, async (folder, name) => {
          const seen = await lookAtFile(folder, name, location.path)
          if (!seen.ok) return seen
          return { ok: true, ...place, bytes: seen.stat.size, modifiedAt: Math.trunc(seen.stat.mtimeMs) }
        }),
      ),
    async list(actor, prefix) {
      const bounds = boundsOf(actor.userId)
      const location = await locateFile(bounds, prefix === '' ? '.' : prefix)
      if (!location.ok) return location
      return await listFiles(location, bounds).catch((cause: unknown) => describeSystemError(cause, location.path))
    },
    write: (actor, place, change) =>
      reach(actor, place, async (location) => {
        if (actor.author === 'agent' && (await makesPrompt(location))) {
          return failure('protected', `${place.path} is part of your own prompt: only the user can change it.`)
        }
        return await replaceText(location, change)
      }),
  }
}

async function replaceText(location: FileLocation, change: AssetChange): Promise<AssetChanged | AssetFailure> {
  const found = await inFolderOf(location, (folder, name) =>
    readText(folder, name, { location, maxBytes: maxReplacedBytes }),
  ).catch((cause: unknown): StoredFile => describeSystemError(cause, location.path))
  if (!found.ok && found.code !== 'not_found') return found
  const before = found.ok ? found : undefined
  const next = change.next(before)
  if (!next.ok) return next
  if (next.isSame) return { ok: true, next, version: null }
  const version = await change.record({ found: before, next })
  const put = async (folder: OpenFolder, name: string) => {
    if (!(await folder.isInPlace())) return moved(location.path)
    if (next.content === null) await folder.remove(name)
    else await folder.write(name, next.content, before?.mode)
    return undefined
  }
  try {
    const problem = await inFolderOf(location, put, { make: next.content !== null })
    if (!problem) return { ok: true, next, version }
    await change.takeBack(version)
    return problem
  } catch (cause) {
    await change.takeBack(version)
    throw cause
  }
}

async function readText(
  folder: OpenFolder,
  name: string,
  { location, maxBytes }: { location: FileLocation; maxBytes: number },
): Promise<StoredFile> {
  const read = await readPlainFile(folder, name, { path: location.path, maxBytes })
  if (!read.ok) return read
  const content = new TextDecoder('utf-8', { ignoreBOM: true }).decode(read.bytes)
  // Only text that encodes to the same bytes again, so that an edit changes nothing else; anything else is binary.
  if (!isUtf8(read.bytes) || content.includes('\u0000')) {
    return failure('binary', `${location.path} is not UTF-8 text.`)
  }
  const { mtimeMs, mode } = read.stat
  return { ok: true, content, trust: location.root.trust, modifiedAt: Math.trunc(mtimeMs), mode: mode & 0o777 }
}

function pathOf({ uri }: AssetPlace): string {
  return uri.slice('file://'.length)
}
