import { execFile } from 'node:child_process'
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
} from 'node:fs'
import { chmod, chown, copyFile, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ensurePrivateDirectory, readBundledText } from '../../base/files.ts'
import { sha256 } from '../../base/ids.ts'
import { type Architecture, buildFilter, encode } from '../system-calls.ts'
import { writablePrefix } from './janitor.ts'
import { copyTree, createReadableFolders, type SandboxAccount, systemFolders } from './readable-folders.ts'

/** The path of the sandbox's own files inside. */
export const innerFiles = '/etc/familiar'

export type Stage = Awaited<ReturnType<typeof openStage>>

/** Root's sandboxes use an account that cannot enter any home; their place is a system folder. */
const systemPlace = '/var/lib/familiar-sandbox'

/**
 * The folder for the parts of a sandbox. Code inside can read the host path of its mounts in `/proc/self/mountinfo`, so
 * the place reveals nothing about the user's home. If another user has taken that place, the given folder is used.
 */
export function stagePlace(directory: string, account: SandboxAccount, shared = '/var/tmp'): string {
  if (account.isOther) return systemPlace
  const place = join(shared, `familiar-sandbox-${account.uid}`)
  try {
    mkdirSync(place, { mode: 0o700 })
  } catch {
    // It exists or cannot be created: the following check decides.
  }
  const found = lstatSync(place, { throwIfNoEntry: false })
  const isOwn = found?.isDirectory() && found.uid === account.uid && (found.mode & 0o077) === 0
  return isOwn ? place : directory
}

/** The driver's files during its life: the parts of every sandbox, readable for its account. */
export async function openStage(options: {
  directory: string
  instance: string
  account: SandboxAccount
  architecture: Architecture
  /** False for tests only. */
  hasFilter: boolean
}) {
  const { account } = options
  await ensurePrivateDirectory(options.directory)
  const place = stagePlace(options.directory, account)
  const stage = join(place, options.instance)
  const at = (name: string) => join(stage, name)
  if (account.isOther) {
    await mkdir(place, { recursive: true })
    await chmod(place, 0o711)
  }

  await mkdir(stage)
  for (const name of ['copies', 'doors', 'root', 'server']) await mkdir(at(name))
  await makeInnerEtc(at('etc'), account.gid)
  await writeFile(at('filter'), encode(buildFilter(options.architecture)))
  await mkdir(at('etc/familiar'))
  await copyBundled(at('etc/familiar'), innerPrograms)
  // Debian has no `python`, and most published scripts start with it.
  const python = findSystemProgram('python3')
  await mkdir(at('etc/familiar/bin'))
  if (python) await symlink(python, at('etc/familiar/bin/python'))
  const firstShell = await copyShell(at('etc/familiar/sh'))
  await copyBundled(at('server'), { 'fork-server.py': forkServer, 'familiar_relay.py': relayProgram })

  const folders = createReadableFolders({ directory: at('copies'), account })
  await share(['', 'copies', 'doors'])
  const node = ownNode()
  const binds = [{ source: at('etc'), target: '/etc' }]
  if (node) binds.push({ source: (await folders.hold(node)).path, target: `${ownPrograms}/node` })
  const root = innerRoot()
  const settings = {
    inner: sandboxUser,
    outer: account,
    rootDirectory: at('root'),
    filter: options.hasFilter ? at('filter') : null,
    root,
    binds,
    devices: innerDevices,
    directories: innerDirectories,
    links: innerLinks,
  }
  await writeFile(at('settings.json'), JSON.stringify(settings))
  for (const name of ['root', 'server', 'etc/familiar', 'etc/familiar/bin']) await chmod(at(name), 0o755)
  for (const name of ['filter', 'settings.json']) await chmod(at(name), 0o644)

  /** Shares the files with the account only. */
  async function share(names: readonly string[]): Promise<void> {
    for (const name of account.isOther ? names : []) {
      await chown(at(name), 0, account.gid)
      await chmod(at(name), 0o710)
    }
  }

  return {
    account,
    /** Marks the processes of its sandboxes, so that a later driver recognizes them. */
    mark: options.instance,
    root,
    /** Mounted in every sandbox, before the command's own mounts. */
    binds,
    filter: at('filter'),
    hasFilter: options.hasFilter,
    /** The shell that is the first process in bubblewrap. */
    firstShell,
    forkServer: { program: at('server/fork-server.py'), settingsFile: at('settings.json') },
    doors: at('doors'),
    folders,
    /** The place of writable folders: of this home, so that they outlive the driver. */
    writable: join(place, `${writablePrefix}${sha256(options.directory).slice(0, 16)}`),
    /** Updates the access times, so that no system cleanup deletes the files. */
    touch(): void {
      for (const name of readdirSync(stage, { recursive: true, encoding: 'utf8' })) {
        const { mtime } = lstatSync(at(name), { throwIfNoEntry: false }) ?? {}
        if (mtime) lutimesSync(at(name), new Date(), mtime)
      }
    },
    remove: () => rm(stage, { recursive: true, force: true }),
  }
}

/**
 * A shell that can be run but not read: the kernel protects the memory of such a process, so the code cannot take over
 * the process that holds its sandbox together.
 */
async function copyShell(target: string): Promise<string> {
  await copyFile('/bin/sh', target)
  await chmod(target, 0o111)
  // If nothing in a home may be executed, the system's shell is used.
  return promisify(execFile)(target, ['-c', 'exit 0'], { timeout: 5_000 }).then(
    () => `${innerFiles}/sh`,
    () => '/bin/sh',
  )
}

const relayProgram = new URL('./familiar_relay.py', import.meta.url)
const innerPrograms = {
  'relay.py': relayProgram,
  'relay.mjs': new URL('./relay.mjs', import.meta.url),
  'facts.sh': new URL('./facts.sh', import.meta.url),
  'facts.py': new URL('./facts.py', import.meta.url),
}
const forkServer = new URL('./fork-server.py', import.meta.url)

async function copyBundled(directory: string, files: Readonly<Record<string, URL>>): Promise<void> {
  for (const [name, url] of Object.entries(files)) {
    await writeFile(join(directory, name), `${readBundledText(url)}\n`)
    await chmod(join(directory, name), 0o644)
  }
}

/** The mount point of this program's own Node, if it is not the system's. */
export const ownPrograms = '/opt/familiar/bin'

const systemPrograms = ['/usr/local/bin', '/usr/bin', '/bin', '/usr/local/sbin', '/usr/sbin', '/sbin']

/** Stand-ins for programs that scripts expect; last in the path. */
const standIns = `${innerFiles}/bin`

export const innerPath = [ownPrograms, ...systemPrograms, standIns].join(':')

/** The path of a system program, the same inside and outside. */
export function findSystemProgram(name: string): string | undefined {
  if (name.includes('/')) return undefined
  return systemPrograms.map((folder) => join(folder, name)).find(isThere)
}

/** Whether a command finds the program. */
export function hasProgram(name: string): boolean {
  return name === 'node' || findSystemProgram(name === 'python' ? 'python3' : name) !== undefined
}

function isThere(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    // A link out of the system's folders leads nowhere inside.
    return systemFolders.test(realpathSync(path))
  } catch {
    return false
  }
}

/** This program's Node, unless it is in the system's folders anyway. */
export function ownNode(executable = process.execPath): string | undefined {
  return systemFolders.test(executable) ? undefined : executable
}

/** The user that the code runs as, from its own view. */
export const sandboxUser = { uid: 1000, gid: 1000, name: 'sandbox' } as const

const madeUp: Readonly<Record<string, string>> = {
  passwd: `${sandboxUser.name}:x:${sandboxUser.uid}:${sandboxUser.gid}:${sandboxUser.name}:/tmp:/bin/sh\n`,
  group: `${sandboxUser.name}:x:${sandboxUser.gid}:\n`,
  hosts: '127.0.0.1 localhost\n::1 localhost\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
  'resolv.conf': '',
  hostname: 'sandbox\n',
}

/** Files of the machine that programs need to start and to trust certificates, and nothing about its owner. */
const taken = [
  ...['ld.so.cache', 'localtime', 'alternatives', 'ssl/certs', 'ssl/openssl.cnf', 'pki/tls/certs'],
  ...['pki/ca-trust/extracted', 'services', 'protocols', 'mime.types'],
  // Without these, programs that draw pages find no font or do not start.
  ...['fonts', 'libreoffice', 'ImageMagick-6', 'ImageMagick-7'],
]

/** Creates the /etc of all sandboxes: one folder, because each mount takes a fifth of a millisecond. */
async function makeInnerEtc(target: string, gid: number): Promise<void> {
  await mkdir(target)
  for (const [name, text] of Object.entries(madeUp)) await writeFile(join(target, name), text)
  for (const name of taken) {
    const source = join('/etc', name)
    if (!existsSync(source)) continue
    await mkdir(dirname(join(target, name)), { recursive: true })
    await copyTree({ source, target: join(target, name), gid, isPrivate: false })
  }
  // None of it is secret, and this program's umask has reduced the modes.
  for (const name of ['', 'ssl', 'pki', 'pki/tls', 'pki/ca-trust', ...Object.keys(madeUp)]) {
    const path = join(target, name)
    if (existsSync(path)) await chmod(path, name in madeUp ? 0o644 : 0o755)
  }
}

/** How a system folder appears in the sandbox's root. */
type RootEntry = { path: string } & ({ kind: 'folder' } | { kind: 'link'; target: string })

/** The system's programs and libraries. If /bin is a link into /usr, it stays one. */
export function innerRoot(): RootEntry[] {
  return ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].flatMap((path): RootEntry[] => {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found?.isSymbolicLink()) return [{ path, kind: 'link', target: readlinkSync(path) }]
    return found?.isDirectory() ? [{ path, kind: 'folder' }] : []
  })
}

/** The devices that every program may use. */
export const innerDevices = ['/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom'] as const

export const innerDirectories = ['/tmp', '/run', '/var'] as const

/** Shared memory is written like files, and counts with them. */
export const innerLinks = {
  '/dev/fd': '/proc/self/fd',
  '/dev/stdin': '/proc/self/fd/0',
  '/dev/stdout': '/proc/self/fd/1',
  '/dev/stderr': '/proc/self/fd/2',
  '/dev/shm': '/tmp',
  '/var/tmp': '/tmp',
} as const
