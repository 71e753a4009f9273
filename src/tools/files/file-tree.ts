import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
} from 'node:fs'
import { createPathStore } from './fuzzy-search.ts'
import { type IgnoreChain, isIgnored, parseIgnoreRules } from './ignore-rules.ts'

interface Folder {
  /** From the root, with a trailing slash; empty for the root. */
  path: string
  stamp?: number | undefined
  rulesStamp?: string | undefined
  /** Changes with the sources of its own rules. */
  rulesKey: string
  /** Its rules, and the surrounding rules when it was read. */
  chain?: IgnoreChain | undefined
  outer?: IgnoreChain | undefined
  /** Its files have consecutive ids in the store. */
  firstId: number
  files: number
  folders: Map<string, Folder>
}

/** A name may be added within the clock tick in which a folder was read. */
const coarsestClockMs = 2_000
const maxRemoved = 0.5

/**
 * The files under one root that git does not ignore, kept in a store. Updates read only folders in which a name was
 * added or removed: other folders cost one stat, and files none.
 */
export function createFileTree(options: {
  /** With symlinks resolved, like the closed folders. */
  root: string
  closed: ReadonlySet<string>
  now(): number
  maxFiles: number
}) {
  const { root, closed, now, maxFiles } = options
  const top = newFolder('')
  const tree = {
    store: createPathStore(),
    isCut: false,
    /** Updates the store in small steps, so that the thread can answer in between. */
    *look(): Generator<void> {
      tree.isCut = false
      // Breadth first: files near the root are found first, and listed first for an empty query.
      const queue: { folder: Folder; outer: IgnoreChain | undefined }[] = [{ folder: top, outer: undefined }]
      for (const { folder, outer } of queue) {
        lookAt(folder, outer)
        for (const inner of folder.folders.values()) queue.push({ folder: inner, outer: folder.chain })
        yield
      }
      const { removed, count } = tree.store
      if (removed > 1_000 && removed > count * maxRemoved) yield* compact()
    },
  }
  return tree

  function lookAt(folder: Folder, outer: IgnoreChain | undefined): void {
    const absolute = absoluteOf(folder.path)
    const stamp = folderStamp(absolute)
    const rulesPath = `${absolute}/.gitignore`
    const isSame =
      stamp !== undefined &&
      stamp === folder.stamp &&
      outer === folder.outer &&
      (folder.rulesStamp === undefined || folder.rulesStamp === ruleFileStamp(rulesPath))
    if (isSame) return
    const startedAt = now()
    const content = stamp === undefined ? undefined : readFolder(absolute)
    forget(folder)
    if (!content) {
      for (const inner of folder.folders.values()) drop(inner)
      folder.folders.clear()
      folder.stamp = undefined
      return
    }
    const rules = content.files.includes('.gitignore') ? readRuleFile(rulesPath) : undefined
    const isRepository = content.folders.includes('.git') || content.files.includes('.git')
    const excluded = isRepository ? readRuleFile(`${absolute}/.git/info/exclude`) : undefined
    const rulesKey = `${isRepository} ${rules?.stamp} ${excluded?.stamp}`
    // The same object signals to subfolders that nothing has changed.
    if (rulesKey !== folder.rulesKey || outer !== folder.outer) {
      // Outer rules do not apply inside a nested repository.
      folder.chain = isRepository ? undefined : outer
      for (const { text } of [excluded, rules].filter((file) => file !== undefined)) {
        const parsed = parseIgnoreRules(text)
        if (parsed) folder.chain = { rules: parsed, base: folder.path, outer: folder.chain }
      }
    }
    folder.rulesKey = rulesKey
    folder.outer = outer
    folder.rulesStamp = rules?.stamp
    folder.stamp = startedAt - content.stamp > coarsestClockMs ? content.stamp : Number.NaN
    keepFiles(folder, content.files)
    keepFolders(folder, content.folders)
  }

  function keepFiles(folder: Folder, names: readonly string[]): void {
    const { store } = tree
    folder.firstId = store.count
    for (const name of names) {
      const path = folder.path + name
      if (isNoName(name) || isIgnored(folder.chain, { name, path, isFolder: false })) continue
      if (store.count - store.removed >= maxFiles) {
        tree.isCut = true
        break
      }
      store.add(path)
    }
    folder.files = store.count - folder.firstId
  }

  function keepFolders(folder: Folder, names: readonly string[]): void {
    const before = folder.folders
    folder.folders = new Map()
    for (const name of names) {
      const path = folder.path + name
      if (isNoName(name) || closed.has(absoluteOf(`${path}/`))) continue
      if (isIgnored(folder.chain, { name, path, isFolder: true })) continue
      folder.folders.set(name, before.get(name) ?? newFolder(`${path}/`))
      before.delete(name)
    }
    for (const gone of before.values()) drop(gone)
  }

  function forget(folder: Folder): void {
    for (let id = folder.firstId; id < folder.firstId + folder.files; id += 1) tree.store.remove(id)
    folder.files = 0
  }

  function drop(folder: Folder): void {
    const waiting = [folder]
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      forget(next)
      waiting.push(...next.folders.values())
    }
  }

  /** The old store answers until the new one is complete. */
  function* compact(): Generator<void> {
    const fresh = createPathStore()
    const moved: { folder: Folder; firstId: number }[] = []
    const queue = [top]
    for (const folder of queue) {
      moved.push({ folder, firstId: fresh.count })
      for (let id = folder.firstId; id < folder.firstId + folder.files; id += 1) fresh.add(tree.store.pathOf(id))
      queue.push(...folder.folders.values())
      yield
    }
    for (const { folder, firstId } of moved) folder.firstId = firstId
    tree.store = fresh
  }

  function absoluteOf(path: string): string {
    return path === '' ? root : `${root === '/' ? '' : root}/${path.slice(0, -1)}`
  }
}

function isNoName(name: string): boolean {
  return name === '.git' || /[\p{Cc}\ufffd]/u.test(name)
}

function newFolder(path: string): Folder {
  return { path, rulesKey: '', firstId: 0, files: 0, folders: new Map() }
}

// All of this blocks on the disk: it runs in the finder's own thread.

interface FolderContent {
  files: string[]
  folders: string[]
  stamp: number
}

/**
 * The names in a folder. Symlinks are skipped: targets inside the root are found there. Undefined if it is not a
 * folder, or if its path leads elsewhere, even if that changed while reading.
 */
function readFolder(path: string): FolderContent | undefined {
  return withDescriptor(path, constants.O_DIRECTORY ?? 0, (descriptor) => {
    const stamp = fstatSync(descriptor).mtimeMs
    // Names are read through the checked descriptor, not by the path again.
    const held = `/proc/self/fd/${descriptor}`
    const isHeld = process.platform === 'linux'
    if ((isHeld ? readlinkSync(held) : realpathSync.native(path)) !== path) return undefined
    const content: FolderContent = { files: [], folders: [], stamp }
    for (const entry of readdirSync(isHeld ? held : path, { withFileTypes: true })) {
      if (entry.isFile()) content.files.push(entry.name)
      else if (entry.isDirectory()) content.folders.push(entry.name)
    }
    return content
  })
}

/** When a name was last added or removed; undefined if it is no longer a folder. */
function folderStamp(path: string): number | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found?.isDirectory() ? found.mtimeMs : undefined
}

const maxRuleBytes = 500_000

/** A file of ignore rules. Like git, it does not follow symlinks. */
function readRuleFile(path: string): { text: string; stamp: string } | undefined {
  return withDescriptor(path, constants.O_NONBLOCK ?? 0, (descriptor) => {
    const found = fstatSync(descriptor)
    if (!found.isFile() || found.size > maxRuleBytes) return undefined
    return { text: readFileSync(descriptor, 'utf8'), stamp: stampOf(found) }
  })
}

function ruleFileStamp(path: string): string | undefined {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found?.isFile() ? stampOf(found) : undefined
}

function stampOf({ mtimeMs, size, ino }: { mtimeMs: number; size: number; ino: number }): string {
  return `${mtimeMs}:${size}:${ino}`
}

function withDescriptor<T>(path: string, flags: number, use: (descriptor: number) => T | undefined): T | undefined {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | flags)
    return use(descriptor)
  } catch {
    // Missing or not permitted: nothing is found there.
    return undefined
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

export function realFolder(path: string): string | undefined {
  try {
    const real = realpathSync.native(path)
    return folderStamp(real) === undefined ? undefined : real
  } catch {
    return undefined
  }
}
