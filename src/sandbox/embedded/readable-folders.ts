import { execFile } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  constants,
  copyFileSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
} from 'node:fs'
import { readFile, realpath, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextRound } from 'node:timers/promises'
import { promisify } from 'node:util'
import { sha256 } from '../../base/ids.ts'
import { SandboxUnavailable } from '../sandbox.ts'

/** A place where the sandbox's account can read the requested files, until it is released. */
interface ReadableFolder {
  path: string
  release(): void
}

interface Copy {
  source: string
  ready: Promise<string>
  users: number
}

/** Above this, a user's folder is mounted in place, although code inside can then read its path. */
const maxCopyBytes = 256 * 1024 * 1024
export const systemFolders = /^\/(usr|bin|sbin|lib|lib32|lib64|libx32)\//

/**
 * System files are read in place. Everything else is a copy that only the sandbox's account can read, made once per
 * version of the original: root's sandbox uses an account that cannot enter any home, and code inside can read the
 * original's host path from its list of mounts.
 */
export function createReadableFolders(options: {
  directory: string
  account: SandboxAccount
  /** False if `directory` is already private, and the account is only known inside a container. */
  isPrivate?: boolean
}) {
  const { directory, account, isPrivate = true } = options
  const copies = new Map<string, Copy>()

  /** Throws `SandboxUnavailable` if there is nothing. */
  async function hold(source: string): Promise<ReadableFolder> {
    const real = await realpath(source).catch(() => {
      throw new SandboxUnavailable(`${source} does not exist`)
    })
    if (systemFolders.test(real)) return { path: real, release() {} }
    const { stamp, bytes } = await stampTree(real)
    if (!account.isOther && bytes > maxCopyBytes) return { path: real, release() {} }
    const key = sha256(`${real}\0${stamp}`).slice(0, 24)
    const copy = copies.get(key) ?? startCopy(key, real)
    copy.users += 1
    const release = () => {
      copy.users -= 1
      dropOutdated(real)
    }
    try {
      return { path: await copy.ready, release }
    } catch (cause) {
      copies.delete(key)
      throw cause
    }
  }

  function startCopy(key: string, source: string): Copy {
    const copy: Copy = { source, ready: makeCopy(key, source), users: 0 }
    // The newest one is the last in the map.
    copies.set(key, copy)
    return copy
  }

  async function makeCopy(key: string, source: string): Promise<string> {
    const target = join(directory, key)
    const temporary = `${target}.new`
    await rm(temporary, { recursive: true, force: true })
    await copyTree({ source, target: temporary, gid: account.gid, isPrivate })
    await rename(temporary, target)
    return target
  }

  function dropOutdated(source: string): void {
    const ofSource = [...copies].filter(([, copy]) => copy.source === source)
    for (const [key, copy] of ofSource.slice(0, -1)) {
      if (copy.users > 0) continue
      copies.delete(key)
      void copy.ready.then((path) => rm(path, { recursive: true, force: true })).catch(() => undefined)
    }
  }

  return { hold }
}

const accountName = 'familiar-sandbox'

/** The owner of the sandbox's processes on this machine. */
export interface SandboxAccount {
  uid: number
  gid: number
  /** Not this process's user: files for the code must be readable for that account. */
  isOther: boolean
}

/**
 * This process's own user, and never root: bubblewrap started by root leaves parts of the host's /proc/sys writable,
 * whatever it unshares. A program that runs as root uses a dedicated account.
 */
export async function sandboxAccount(): Promise<SandboxAccount> {
  const uid = process.geteuid?.() ?? -1
  const gid = process.getegid?.() ?? -1
  if (uid !== 0) return { uid, gid, isOther: false }
  const known = (await findAccount()) ?? (await makeAccount())
  return { ...(known ?? (await unusedNumber())), isOther: true }
}

async function findAccount() {
  const found = (await accounts()).find(({ name }) => name === accountName)
  return found && found.uid !== 0 && found.gid !== 0 ? { uid: found.uid, gid: found.gid } : undefined
}

async function makeAccount() {
  const settings = ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent']
  const shell = ['--shell', '/usr/sbin/nologin']
  const options = { env: { PATH: '/usr/sbin:/sbin:/usr/bin:/bin' }, timeout: 10_000 }
  // A machine without useradd, or with a read-only /etc, has no account: an unused id works too.
  await promisify(execFile)('useradd', [...settings, ...shell, accountName], options).catch(() => undefined)
  return findAccount()
}

/** An id without an account, from a range that distributions leave free. */
async function unusedNumber() {
  const taken = new Set((await accounts()).flatMap(({ uid, gid }) => [uid, gid]))
  for (let number = 64_899; number > 64_000; number -= 1) {
    if (!taken.has(number)) return { uid: number, gid: number }
  }
  throw new Error('No user id is free for the sandbox')
}

async function accounts() {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '')
  return text.split('\n').flatMap((line) => {
    const [name = '', , uid, gid] = line.split(':')
    return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : []
  })
}

/** Copies this many bytes or entries before yielding to the rest of the program. */
const bytesAtOnce = 4 * 1024 * 1024
const bytesOfAnEntry = 32 * 1024
/** Files from this size on are linked instead of copied if possible. */
export const largeBytes = 1024 * 1024

/** The readers of the copy, beside this user: one group, or all users. */
interface Readers {
  gid: number
  isPrivate: boolean
}

/**
 * Copies a file or folder so that only this user can write it. Links stay links. Sockets, devices and pipes are
 * omitted.
 */
export async function copyTree(options: { source: string; target: string } & Readers): Promise<void> {
  const waiting = [{ source: options.source, target: options.target }]
  let copied = 0
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const { source, target } = next
    const { kind, size, mode } = statOf(source)
    if (kind === 'link') symlinkSync(readlinkSync(source), target)
    if (kind === 'file') copyOne({ source, target, size, mode }, options)
    if (kind === 'folder') {
      mkdirSync(target)
      share(target, 0o111, options)
      waiting.push(...readdirSync(source).map((name) => ({ source: join(source, name), target: join(target, name) })))
    }
    copied += bytesOfAnEntry + (kind === 'file' ? size : 0)
    if (copied < bytesAtOnce) continue
    copied = 0
    await nextRound()
  }
}

function statOf(path: string) {
  const found = lstatSync(path)
  const kind = found.isSymbolicLink() ? 'link' : found.isFile() ? 'file' : found.isDirectory() ? 'folder' : 'other'
  return { kind, size: found.size, mode: found.mode } as const
}

function copyOne(file: { source: string; target: string; size: number; mode: number }, readers: Readers): void {
  const { source, target, size, mode } = file
  const isOpen = (mode & 0o004) !== 0
  if (size >= largeBytes && isOpen && tryLink(source, target)) return
  copyFileSync(source, target, constants.COPYFILE_FICLONE)
  share(target, mode, readers)
}

/** No set-user-id bit, whatever the original has. */
function share(path: string, mode: number, { gid, isPrivate }: Readers): void {
  if (process.geteuid?.() === 0) chownSync(path, 0, gid)
  const canExecute = (mode & 0o111) !== 0
  chmodSync(path, (isPrivate ? 0o750 : 0o755) & (canExecute ? 0o777 : 0o666))
}

function tryLink(source: string, target: string): boolean {
  try {
    linkSync(source, target)
    return true
  } catch {
    // Another file system.
    return false
  }
}

/** Scans this many entries before yielding to the rest of the program. */
const entriesAtOnce = 200

/**
 * The current state of the file or folder, and the size of all scanned files. The stamp changes when anything in the
 * folder is changed, added, removed or renamed. A folder that even its owner may not write is treated as final: only the
 * folder itself is checked, so that a thousand installed files cost nothing.
 */
async function stampTree(source: string): Promise<{ stamp: string; bytes: number }> {
  const lines: string[] = []
  let bytes = 0
  const waiting = [source]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const found = lstatSync(path)
    // Linking a large file changes its ctime, and a link shows every change anyway.
    const changedAt = found.isFile() && found.size >= largeBytes ? 0 : found.ctimeMs
    lines.push(`${path}\0${found.ino}:${found.size}:${found.mtimeMs}:${changedAt}:${found.mode}`)
    if (found.isFile()) bytes += found.size
    const isFinished = path === source && (found.mode & 0o222) === 0
    if (found.isDirectory() && !isFinished) waiting.push(...readdirSync(path).map((name) => join(path, name)))
    if (lines.length % entriesAtOnce === 0) await nextRound()
  }
  return { stamp: sha256(lines.sort().join('\n')), bytes }
}
