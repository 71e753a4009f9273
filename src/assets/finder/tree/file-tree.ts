import { createPathStore, type PathStore } from '../fuzzy/path-store.ts'
import { type IgnoreChain, isIgnored } from '../ignore/ignore-chain.ts'
import { parseIgnoreRules } from '../ignore/ignore-rules.ts'
import { folderStamp, readFolder, readRuleFile, ruleFileStamp } from './read-folder.ts'

/**
 * The files under one root that git does not ignore, kept in a store. A later look reads only those folders again in
 * which a name has come or gone: all others cost one question of the disk each, and no file costs any.
 */
interface FileTree {
  readonly store: PathStore
  /** There is more than is kept. */
  readonly isCut: boolean
  /** Brings the store up to date in small steps, so that the thread can answer in between. */
  look(): Generator<void>
}

interface Folder {
  /** From the root, with a slash at its end; empty for the root. */
  path: string
  /** Undefined: its names are to be read. */
  stamp: number | undefined
  /** Of its .gitignore. */
  rulesStamp: string | undefined
  /** Changes with all that its own rules come from. */
  rulesKey: string
  /** What holds in it, and what held around it when it was read. */
  chain: IgnoreChain | undefined
  outer: IgnoreChain | undefined
  /** Its files are these ids of the store, one after the other. */
  firstId: number
  files: number
  folders: Map<string, Folder>
}

/** A name may come within the same tick of a coarse clock in which a folder was read. */
const coarsestClockMs = 2_000
/** Where more than this share is of what was removed, the store is made anew. */
const mostRemoved = 0.5

export function createFileTree(options: {
  /** Without symlinks in it, as those that are closed. */
  root: string
  closed: ReadonlySet<string>
  now(): number
  mostFiles: number
}): FileTree {
  const { root, closed, now, mostFiles } = options
  let store = createPathStore()
  let isCut = false
  const top = newFolder('')

  return {
    get store() {
      return store
    },
    get isCut() {
      return isCut
    },
    *look() {
      isCut = false
      // Breadth first: what lies near the root is found first, and listed first where nothing is asked for yet.
      const queue: { folder: Folder; outer: IgnoreChain | undefined }[] = [{ folder: top, outer: undefined }]
      for (let at = 0; at < queue.length; at += 1) {
        const { folder, outer } = queue[at] as (typeof queue)[number]
        lookAt(folder, outer)
        for (const inner of folder.folders.values()) queue.push({ folder: inner, outer: folder.chain })
        yield
      }
      if (store.removed > 1_000 && store.removed > store.count * mostRemoved) yield* compact()
    },
  }

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
    // The same object as before tells the folders below that nothing has changed for them.
    if (rulesKey !== folder.rulesKey || outer !== folder.outer) {
      folder.chain = [excluded?.text, rules?.text].reduce<IgnoreChain | undefined>(
        (chain, text) => linked(chain, text, folder.path),
        // The rules around a repository do not reach into it.
        isRepository ? undefined : outer,
      )
    }
    folder.rulesKey = rulesKey
    folder.outer = outer
    folder.rulesStamp = rules?.stamp
    folder.stamp = startedAt - content.stamp > coarsestClockMs ? content.stamp : Number.NaN
    keepFiles(folder, content.files)
    keepFolders(folder, content.folders)
  }

  function keepFiles(folder: Folder, names: readonly string[]): void {
    folder.firstId = store.count
    for (const name of names) {
      const path = folder.path + name
      if (isNoName(name) || isIgnored(folder.chain, { name, path, isFolder: false })) continue
      if (store.count - store.removed >= mostFiles) {
        isCut = true
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
    for (let id = folder.firstId; id < folder.firstId + folder.files; id += 1) store.remove(id)
    folder.files = 0
  }

  function drop(folder: Folder): void {
    const waiting = [folder]
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      forget(next)
      waiting.push(...next.folders.values())
    }
  }

  /** Answers come from the old store until the new one is whole. */
  function* compact(): Generator<void> {
    const fresh = createPathStore()
    const moved: { folder: Folder; firstId: number }[] = []
    const queue = [top]
    for (let at = 0; at < queue.length; at += 1) {
      const folder = queue[at] as Folder
      moved.push({ folder, firstId: fresh.count })
      for (let id = folder.firstId; id < folder.firstId + folder.files; id += 1) fresh.add(store.pathOf(id))
      queue.push(...folder.folders.values())
      yield
    }
    for (const { folder, firstId } of moved) folder.firstId = firstId
    store = fresh
  }

  function absoluteOf(path: string): string {
    return path === '' ? root : `${root === '/' ? '' : root}/${path.slice(0, -1)}`
  }
}

/** Git's own, and what nobody can write down. */
function isNoName(name: string): boolean {
  return name === '.git' || /[\p{Cc}\ufffd]/u.test(name)
}

function linked(outer: IgnoreChain | undefined, text: string | undefined, base: string): IgnoreChain | undefined {
  const rules = text === undefined ? undefined : parseIgnoreRules(text)
  return rules ? { rules, base, outer } : outer
}

function newFolder(path: string): Folder {
  return {
    path,
    stamp: undefined,
    rulesStamp: undefined,
    rulesKey: '',
    chain: undefined,
    outer: undefined,
    firstId: 0,
    files: 0,
    folders: new Map(),
  }
}
