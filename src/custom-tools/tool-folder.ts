import { createHash } from 'node:crypto'
import { type BigIntStats, constants, type Dirent, existsSync, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, readdir, readlink } from 'node:fs/promises'
import { basename, dirname, join, posix } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { describeFileError } from '../memory/files/walk-files.ts'
import { isFolder, type WatchFolder, watchFolder } from '../memory/files/watch-files.ts'
import type { ToolState, ToolStates } from './tool-approval.ts'

/** A folder that holds folders of tools. */
export interface ToolRoot {
  path: string
  /** It is in the home, where only the owner can write. */
  isPrivate: boolean
}

/** A possible tool: a folder with a manifest, a Dockerfile or a runner. */
export interface FoundFolder {
  directory: string
  isPrivate: boolean
  /** Set if it is refused for its kind alone. */
  problem: string | null
}

const maxTools = 500
const maxWatchedInside = 100
const toolFile = /^(?:manifest\.json|Dockerfile|(?:runner|main)\.[a-z]+)$/

/** In the order of the roots, then of names, and all that must be watched to see a change. */
export async function findToolFolders(
  roots: readonly ToolRoot[],
): Promise<{ folders: FoundFolder[]; watched: WatchedFolders }> {
  const folders: FoundFolder[] = []
  const watched = new Map<string, string | null>()
  for (const { path, isPrivate } of roots) {
    await watchRoot(path, watched)
    for (const entry of await entriesIn(path)) {
      if (folders.length >= maxTools) break
      const directory = join(path, entry.name)
      if (entry.isDirectory()) {
        await addFoldersInside(directory, watched)
        const isTool = (await entriesIn(directory)).some((inner) => toolFile.test(inner.name))
        if (isTool) folders.push({ directory, isPrivate, problem: null })
      } else if (entry.isSymbolicLink()) folders.push({ directory, isPrivate, problem: isLink })
    }
  }
  return { folders, watched }
}

const isLink = 'it is a link; name the folder that it leads to in tools.directories'

export async function addFoldersInside(directory: string, watched: Map<string, string | null>): Promise<void> {
  const waiting = [directory]
  const most = watched.size + maxWatchedInside
  for (let folder = waiting.shift(); folder !== undefined && watched.size < most; folder = waiting.shift()) {
    watched.set(folder, null)
    for (const entry of await entriesIn(folder)) {
      // Packages come and go as a whole, with the file that lists them.
      const isPassedOver = entry.name === 'node_modules' || entry.name === '__pycache__'
      if (entry.isDirectory() && !isPassedOver) waiting.push(join(folder, entry.name))
    }
  }
}

/** The root, and above it the folder in which it, or the first of what it lies in, comes and goes. */
export async function watchRoot(path: string, watched: Map<string, string | null>): Promise<void> {
  if (await isFolder(path)) watched.set(path, null)
  let missing = path
  while (!(await isFolder(dirname(missing))) && dirname(missing) !== missing) missing = dirname(missing)
  const around = dirname(missing)
  if (!watched.has(around)) watched.set(around, basename(missing))
}

/** In order of name, hidden ones left out. */
export async function entriesIn(folder: string): Promise<Dirent[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((): Dirent[] => [])
  return entries.filter(({ name }) => !name.startsWith('.')).sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** The common start of the names of all copies of this state of the folder. */
export function keptKey({ name, hash }: ToolFolder): string {
  return `${name}-${hash.slice(0, 16)}`
}

type FolderReading = { ok: true; folder: ToolFolder } | { ok: false; problem: string }

const maxFiles = 2_000
const maxBytes = 32 * 1024 ** 2
const deepest = 12
const openFolder = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
const openFile = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** A problem of the folder itself, for its owner. */
class FolderProblem extends Error {}

/**
 * Reads a tool's folder whole, hidden files and compiled Python left out. A link is taken for the file of the same folder
 * that it names; one that leads anywhere else refuses the tool, and so does what is larger than a tool has any use for
 * (SEC-11).
 */
export async function readToolFolder(
  directory: string,
  { isPrivate, before }: { isPrivate: boolean; before?: ToolFolder | undefined },
): Promise<FolderReading> {
  const known = new Map(before?.files.map((file) => [file.path, file]))
  const files = new Map<string, FolderFile>()
  const links = new Map<string, string>()
  let bytes = 0
  let isShared: string | null = null
  try {
    // A user who can write to the parent folder can replace it.
    noteWriters(dirname(directory), await lstat(dirname(directory)))
    await readFolder(directory, '', 0)
    for (const [path, target] of links) addLinked(path, target)
    const sorted = [...files.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
    const isSame = before?.files.length === sorted.length && before.files.every((file, at) => file === sorted[at])
    const hash = isSame ? before.hash : hashOf(sorted)
    const codeHash = isSame ? before.codeHash : hashOf(sorted.filter(({ path }) => path !== 'manifest.json'))
    return { ok: true, folder: { name: basename(directory), directory, files: sorted, hash, codeHash, isShared } }
  } catch (cause) {
    const reason = cause instanceof FolderProblem ? cause.message : describeFileError(cause).message
    return { ok: false, problem: `${directory}: ${reason}` }
  }

  async function readFolder(folder: string, inner: string, depth: number): Promise<void> {
    if (depth > deepest) throw new FolderProblem(`its folders are nested more than ${deepest} deep`)
    await using handle = await open(folder, openFolder)
    const held = heldFolder(handle, folder)
    noteWriters(join(directory, inner), await handle.stat())
    for (const name of (await readdir(held)).sort()) {
      if (name.startsWith('.') || name === '__pycache__') continue
      await readEntry(join(held, name), posix.join(inner, name), depth)
      if (files.size + links.size > maxFiles) throw new FolderProblem(`it has more than ${maxFiles} files`)
    }
  }

  async function readEntry(path: string, inner: string, depth: number): Promise<void> {
    const found = await lstat(path)
    if (found.isDirectory()) await readFolder(path, inner, depth + 1)
    else if (found.isSymbolicLink()) links.set(inner, await readlink(path))
    else if (found.isFile()) files.set(inner, await readFile(path, inner))
  }

  async function readFile(path: string, inner: string): Promise<FolderFile> {
    await using file = await open(path, openFile)
    const opened = await file.stat()
    if (!opened.isFile()) throw new FolderProblem(`${inner} is no file`)
    noteWriters(join(directory, inner), opened)
    bytes += opened.size
    if (bytes > maxBytes) throw new FolderProblem(`it holds more than ${maxBytes / 1024 ** 2} MB`)
    const readAt = Date.now()
    const identity = identityOf(await file.stat({ bigint: true }), readAt)
    const same = known.get(inner)
    if (same && identity !== undefined && same.identity === identity) return same
    const content = new Uint8Array(opened.size)
    const { bytesRead } = await file.read(content, 0, opened.size, 0)
    const isExecutable = (opened.mode & 0o111) !== 0
    return { path: inner, bytes: content.subarray(0, bytesRead), isExecutable, identity }
  }

  function addLinked(path: string, target: string): void {
    const inner = posix.isAbsolute(target) ? undefined : posix.join(posix.dirname(path), target)
    const file = inner === undefined ? undefined : files.get(inner)
    if (!file) throw new FolderProblem(`${path} is a link that leads to no file of it`)
    files.set(path, { ...file, path })
  }

  function noteWriters(path: string, { uid, mode }: Stats): void {
    if (isPrivate || isShared !== null) return
    const user = process.geteuid?.()
    if (uid !== 0 && uid !== user) isShared = `${path} belongs to another user`
    else if (mode & 0o022) isShared = `others can write to ${path}`
  }
}

/** Through what is open, where the system has that: a folder on the way may become a link after it was looked at. */
function heldFolder(handle: FileHandle, folder: string): string {
  const held = `/proc/self/fd/${handle.fd}`
  return existsSync(held) ? held : folder
}

/** A file that changed a moment ago may change again without a new time: clocks of file systems are coarse. */
const coarseMs = 2_000

/** A change of the content or of the mode sets a new `ctime`, which no program can set back. */
function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats, now: number): string | undefined {
  const age = now - Number(ctimeNs / 1_000_000n)
  return age > coarseMs ? [dev, ino, size, mtimeNs, ctimeNs].join(':') : undefined
}

function hashOf(files: readonly FolderFile[]): string {
  const hash = createHash('sha256')
  for (const { path, bytes, isExecutable } of files) {
    hash.update(`${Buffer.byteLength(path)}:${path}:${isExecutable ? 'x' : '-'}:${bytes.length}:`)
    hash.update(bytes)
  }
  return hash.digest('hex')
}

/** A file of a tool's folder, read whole. */
export interface FolderFile {
  /** Inside the folder, with `/`. */
  path: string
  bytes: Uint8Array
  isExecutable: boolean
  /** Device, inode, size and times: as long as they are the same, so are the bytes. Absent if that cannot be relied on. */
  identity?: string | undefined
}

export interface ToolFolder {
  name: string
  directory: string
  files: readonly FolderFile[]
  /** Of every path, byte and mode in it. */
  hash: string
  /** The same without the manifest: the files that can run. */
  codeHash: string
  /** Why another user could have written it; null if none could. */
  isShared: string | null
}

export function readFolderText(folder: ToolFolder, path: string): string | undefined {
  const file = folder.files.find((one) => one.path === path)
  return file && new TextDecoder().decode(file.bytes)
}

/** Each with the one name in it that matters, or null for all of them. */
export type WatchedFolders = ReadonlyMap<string, string | null>

/** Editors write a file in several steps. */
const settleMs = 200

/** How often the folders are looked for again because some were not watched yet. */
const maxLooks = 5

/**
 * Looks at folders and follows them, together with the owner's decisions about them: at every `reload` and once after a
 * burst of changes. Nothing runs while nothing changes. A folder that cannot be watched is logged and passed over.
 */
export function createFolderFollower<Found extends { watched: WatchedFolders }, Entry extends { name: string }>({
  find,
  read,
  decideFirst,
  onTaken,
  states,
  statePrefix = '',
  what,
  clock,
  logger,
  watch = watchFolder,
}: {
  find(): Promise<Found>
  read(found: Found): Promise<Entry[]>
  /** A decision about an entry that needs no owner. */
  decideFirst?(entry: Entry): Partial<ToolState> | undefined
  onTaken(): void
  states: ToolStates
  /** Before the names of the entries in the table of decisions. */
  statePrefix?: string
  /** For the log: `tools` or `skills`. */
  what: string
  clock: Clock
  logger: Logger
  watch?: WatchFolder | undefined
}) {
  let entries: readonly Entry[] = []
  let known: ReadonlyMap<string, ToolState> = new Map()
  let looking: Promise<void> = Promise.resolve()
  let isLookDue = false
  const watchers = new Map<string, { close(): void }>()
  let wanted: WatchedFolders = new Map()
  let cancelTimer: (() => void) | undefined
  let isClosed = false

  function begin(folder: string): boolean {
    try {
      const watcher = watch(folder, {
        onChange(name, isRename) {
          if (name !== null && !matters(name, wanted.get(folder))) return
          // A new folder under the name of a watched one is not seen by the old watch.
          if (isRename && name !== null) drop(join(folder, name))
          schedule()
        },
        onError(error) {
          logger.warn('a folder of tools is watched no more', { folder, error })
          drop(folder)
          schedule()
        },
      })
      watchers.set(folder, watcher)
      return true
    } catch (error) {
      logger.warn('a folder of tools cannot be watched', { folder, error })
      return false
    }
  }

  function dropWhere(isGone: (watched: string) => boolean): void {
    for (const [watched, watcher] of watchers) {
      if (!isGone(watched)) continue
      watcher.close()
      watchers.delete(watched)
    }
  }

  function drop(folder: string): void {
    dropWhere((watched) => watched === folder || watched.startsWith(`${folder}/`))
  }

  function schedule(): void {
    if (isClosed) return
    cancelTimer ??= clock.after(settleMs, () => {
      cancelTimer = undefined
      lookAgain()
    })
  }

  /**
   * Follows these folders and no others; a folder with a name, only for changes of that name in it. True if one is new: it
   * may have changed before its watch began.
   */
  function follow(folders: WatchedFolders): boolean {
    if (isClosed) return false
    wanted = folders
    dropWhere((watched) => !folders.has(watched))
    return [...folders.keys()]
      .filter((folder) => !watchers.has(folder))
      .map(begin)
      .some(Boolean)
  }

  function lookAgain(): void {
    // A scan that has not started yet will see this change too.
    if (isLookDue || isClosed) return
    isLookDue = true
    looking = looking.then(look).catch((error) => logger.error(`the folders of ${what} could not be read`, { error }))
  }

  async function look(): Promise<void> {
    isLookDue = false
    let found = await find()
    // Watches first and reads then, so that no change falls between.
    for (let looks = 1; follow(found.watched) && looks < maxLooks; looks += 1) found = await find()
    const next = await read(found)
    if (isClosed) return
    known = await states.all()
    for (const entry of next) {
      const decision = decideFirst?.(entry)
      if (decision) await decide(entry.name, decision)
    }
    entries = next
    onTaken()
  }

  async function decide(name: string, change: Partial<ToolState>): Promise<void> {
    await states.write(statePrefix + name, change)
    known = await states.all()
  }

  return {
    all: (): readonly Entry[] => entries,
    state: (name: string): ToolState | undefined => known.get(statePrefix + name),
    decide,
    async reload(): Promise<void> {
      lookAgain()
      await looking
    },
    /** When all that happened so far has been taken in. */
    settled: (): Promise<void> => looking,
    async close(): Promise<void> {
      isClosed = true
      cancelTimer?.()
      dropWhere(() => true)
      await looking
    },
  }
}

/** Editors and programs that write whole files keep their drafts under hidden names. */
function matters(name: string, only: string | null | undefined): boolean {
  return only == null ? !name.startsWith('.') : name === only
}

/** The files of a capability by their paths, before any check. */
export type CapabilityFiles = ReadonlyMap<string, Uint8Array>

/** Reads a folder of this machine once, without hidden files and compiled Python. The gate checks the content. */
export async function readCapabilityFolder(
  directory: string,
): Promise<{ ok: true; files: CapabilityFiles } | { ok: false; problem: string }> {
  const reading = await readToolFolder(directory, { isPrivate: true })
  if (!reading.ok) return reading
  return { ok: true, files: new Map(reading.folder.files.map(({ path, bytes }) => [path, bytes])) }
}

/** The lines of a `requirements.txt`, without comments. The installer checks them. */
export function readRequirements(text: string): string[] {
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.replace(/(^|\s)#.*$/, '').trim())
  return [...new Set(lines.filter(Boolean))]
}

const maxVersionFiles = 50
const maxFileBytes = 256 * 1024
const maxVersionBytes = 2 * 1024 ** 2
const maxPathLength = 200
// One way to write each path, the same on every system: no `..`, nothing hidden, nothing absolute, no empty step.
const plainPath = /^[A-Za-z0-9_][A-Za-z0-9_.-]*(?:\/[A-Za-z0-9_][A-Za-z0-9_.-]*){0,7}$/

/** The problems with paths and sizes of the files of a new version. */
export function checkFiles(files: CapabilityFiles): string[] {
  const problems: string[] = []
  if (files.size > maxVersionFiles)
    problems.push(`There are ${files.size} files; a capability has at most ${maxVersionFiles}.`)
  let bytes = 0
  const taken = new Map<string, string>()
  for (const [path, content] of files) {
    bytes += content.length
    if (path.length > maxPathLength || !plainPath.test(path)) {
      const shown = JSON.stringify(path.slice(0, maxPathLength).toWellFormed())
      problems.push(
        `${shown} is no plain path: use letters, digits, "_", "-", "." and "/", with no step that is hidden.`,
      )
      continue
    }
    if (content.length > maxFileBytes) {
      problems.push(`${path} has ${kilobytes(content.length)} KB; a file has at most ${kilobytes(maxFileBytes)} KB.`)
    }
    // On a case-insensitive disk the second would overwrite the first.
    const other = taken.get(path.toLowerCase())
    if (other !== undefined) problems.push(`${path} and ${other} differ in upper and lower case only.`)
    taken.set(path.toLowerCase(), path)
  }
  for (const [lower, path] of taken) {
    const folder = parentFolders(lower).find((step) => taken.has(step))
    if (folder !== undefined) problems.push(`${taken.get(folder)} is a file, and ${path} lies in it.`)
  }
  if (bytes > maxVersionBytes) {
    problems.push(
      `The files have ${kilobytes(bytes)} KB in all; a capability has at most ${kilobytes(maxVersionBytes)} KB.`,
    )
  }
  return problems
}

/** A file as text; undefined where it is not there or no text. */
export function readTextFile(files: CapabilityFiles, path: string): string | undefined {
  const bytes = files.get(path)
  return bytes === undefined ? undefined : decodeUtf8(bytes)
}

/** Undefined where the bytes are no text. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** `a/b/c` lies in `a` and `a/b`. */
export function parentFolders(path: string): string[] {
  const steps = path.split('/').slice(0, -1)
  return steps.map((_, index) => steps.slice(0, index + 1).join('/'))
}

function kilobytes(bytes: number): number {
  return Math.ceil(bytes / 1024)
}
