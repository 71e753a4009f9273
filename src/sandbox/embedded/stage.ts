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
import { chmod, chown, copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ensurePrivateDirectory, readBundledText } from '../../base/files.ts'
import {
  type Architecture,
  auditArchitectures,
  callNumber,
  lastKnownCall,
  type SystemCall,
  systemCalls,
  x32Bit,
} from '../system-calls.ts'
import { copyTree, createReadableFolders, type ReadableFolders, type SandboxAccount } from './readable-folders.ts'

/** The path of the sandbox's own files inside. */
export const innerFiles = '/etc/familiar'

/** The driver's files during its life: the parts of every sandbox, readable for its account. */
export interface Stage {
  root: readonly RootEntry[]
  /** Mounted in every sandbox. */
  binds: readonly { source: string; target: string }[]
  filter: string
  /** The shell that is the first process in bubblewrap. */
  firstShell: string
  forkServer: { program: string; settingsFile: string }
  doors: string
  folders: ReadableFolders
  /** Updates the access times, so that no system cleanup deletes the files. */
  touch(): void
  remove(): Promise<void>
}

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

export async function openStage(options: {
  directory: string
  instance: string
  account: SandboxAccount
  architecture: Architecture
  /** False for tests only. */
  hasFilter: boolean
}): Promise<Stage> {
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
  await writeFile(at('filter'), encodedFilter(options.architecture))
  await mkdir(at('etc/familiar'))
  await copyBundled(at('etc/familiar'), innerPrograms)
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
  for (const name of ['root', 'server', 'etc/familiar']) await chmod(at(name), 0o755)
  for (const name of ['filter', 'settings.json']) await chmod(at(name), 0o644)

  /** Shares the files with the account only. */
  async function share(names: readonly string[]): Promise<void> {
    for (const name of account.isOther ? names : []) {
      await chown(at(name), 0, account.gid)
      await chmod(at(name), 0o710)
    }
  }

  return {
    root,
    binds,
    filter: at('filter'),
    firstShell,
    forkServer: { program: at('server/fork-server.py'), settingsFile: at('settings.json') },
    doors: at('doors'),
    folders,
    touch() {
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
  const canRun = await promisify(execFile)(target, ['-c', 'exit 0'], { timeout: 5_000 }).then(
    () => true,
    () => false,
  )
  return canRun ? `${innerFiles}/sh` : '/bin/sh'
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
const systemFolders = /^\/(usr|bin|sbin|lib|lib32|lib64|libx32)\//

export const innerPath = [ownPrograms, ...systemPrograms].join(':')

/** The path of a system program, the same inside and outside. */
export function findSystemProgram(name: string): string | undefined {
  if (name.includes('/')) return undefined
  return systemPrograms.map((folder) => join(folder, name)).find(isThere)
}

/** Whether a command finds the program. */
export function hasProgram(name: string): boolean {
  return name === 'node' || findSystemProgram(name) !== undefined
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
  'ld.so.cache',
  'localtime',
  'alternatives',
  'ssl/certs',
  'ssl/openssl.cnf',
  'pki/tls/certs',
  'pki/ca-trust/extracted',
  'services',
  'protocols',
  'mime.types',
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
export type RootEntry = { path: string } & ({ kind: 'folder' } | { kind: 'link'; target: string })

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

/**
 * Classic BPF, the language of seccomp filters: a program runs over `struct seccomp_data` before each system call and
 * decides about it. Jumps go forward only and are counted in instructions.
 */
export interface Instruction {
  code: number
  ifTrue: number
  ifFalse: number
  value: number
}

export const codes = {
  /** Loads the 32-bit word at an offset of the data into the accumulator. */
  load: 0x20,
  and: 0x54,
  jumpIfEqual: 0x15,
  jumpIfGreater: 0x25,
  jumpIfAnyBit: 0x45,
  answer: 0x06,
} as const

/** Offsets in `struct seccomp_data`. */
const fields = {
  call: 0,
  architecture: 4,
  /**
   * The lower half of an argument. The upper half is ignored: the kernel truncates all arguments that are compared here
   * to 32 bits.
   */
  argument: (index: number) => 16 + index * 8,
} as const

const answers = {
  allow: 0x7fff0000,
  refuse: (error: number) => 0x00050000 | error,
} as const

function load(offset: number): Instruction {
  return { code: codes.load, ifTrue: 0, ifFalse: 0, value: offset }
}

function and(mask: number): Instruction {
  return { code: codes.and, ifTrue: 0, ifFalse: 0, value: mask }
}

function answer(value: number): Instruction {
  return { code: codes.answer, ifTrue: 0, ifFalse: 0, value }
}

type Test = 'jumpIfEqual' | 'jumpIfGreater' | 'jumpIfAnyBit'

/** Runs `body` if the test is true. */
function when(test: Test, value: number, body: readonly Instruction[]): Instruction[] {
  return [{ code: codes[test], ifTrue: 0, ifFalse: distance(body), value }, ...body]
}

/** Runs `body` unless the test is true. */
function unless(test: Test, value: number, body: readonly Instruction[]): Instruction[] {
  return [{ code: codes[test], ifTrue: distance(body), ifFalse: 0, value }, ...body]
}

function distance(body: readonly Instruction[]): number {
  if (body.length > 255) throw new Error('A BPF jump cannot exceed 255 instructions')
  return body.length
}

/** In the kernel's format: an array of `struct sock_filter` in little-endian byte order. */
export function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(program.length * 8)
  const view = new DataView(bytes.buffer)
  for (const [index, { code, ifTrue, ifFalse, value }] of program.entries()) {
    view.setUint16(index * 8, code, true)
    view.setUint8(index * 8 + 2, ifTrue)
    view.setUint8(index * 8 + 3, ifFalse)
    view.setUint32(index * 8 + 4, value >>> 0, true)
  }
  return bytes
}

const errors = { notPermitted: 1, notImplemented: 38, familyNotSupported: 97 } as const

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET. */
const namespaceFlags = 0x7e020000
/** CLONE_NEWTIME: only `unshare` accepts it; in `clone` its bit belongs to the exit signal. */
const timeNamespaceFlag = 0x80

const families = { unix: 1, inet: 2, inet6: 10 } as const
const socketTypes = { mask: 0xf, raw: 3, packet: 10 } as const

/** Type text into a terminal's input, or control a console. */
const terminalCommands = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c, TIOCSETD: 0x5423 } as const

/** Reads the personality instead of setting it. */
const askPersonality = 0xffffffff

const refuse = answer(answers.refuse(errors.notPermitted))
const refuseAsUnknown = answer(answers.refuse(errors.notImplemented))

/** Calls that depend on their arguments. Each rule ends in a decision on every path. */
const conditional: Partial<Record<SystemCall, readonly Instruction[]>> = {
  clone: [load(fields.argument(0)), ...when('jumpIfAnyBit', namespaceFlags, [refuse]), answer(answers.allow)],
  // Its flags are in memory, which a filter cannot read. Programs fall back to clone.
  clone3: [refuseAsUnknown],
  unshare: [
    load(fields.argument(0)),
    ...when('jumpIfAnyBit', namespaceFlags | timeNamespaceFlag, [refuse]),
    answer(answers.allow),
  ],
  socket: [
    load(fields.argument(1)),
    and(socketTypes.mask),
    ...when('jumpIfEqual', socketTypes.raw, [refuse]),
    ...when('jumpIfEqual', socketTypes.packet, [refuse]),
    ...onlyFamilies(Object.values(families)),
  ],
  socketpair: onlyFamilies([families.unix]),
  ioctl: [
    load(fields.argument(1)),
    ...Object.values(terminalCommands).flatMap((command) => when('jumpIfEqual', command, [refuse])),
    answer(answers.allow),
  ],
  personality: [load(fields.argument(0)), ...when('jumpIfEqual', askPersonality, [answer(answers.allow)]), refuse],
}

function onlyFamilies(allowed: readonly number[]): Instruction[] {
  return [
    load(fields.argument(0)),
    ...allowed.flatMap((family) => when('jumpIfEqual', family, [answer(answers.allow)])),
    answer(answers.refuse(errors.familyNotSupported)),
  ]
}

/**
 * The system calls of sandboxed code: everything except calls that reach other processes, other namespaces, the machine
 * itself, or parts of the kernel with a history of escapes. Blocked calls fail, and the program continues.
 */
export function buildFilter(architecture: Architecture): Instruction[] {
  const calls = Object.keys(systemCalls) as SystemCall[]
  const rules = calls.flatMap((call) => {
    const number = callNumber(call, architecture)
    return number === null ? [] : when('jumpIfEqual', number, conditional[call] ?? [refuse])
  })
  return [
    load(fields.architecture),
    ...unless('jumpIfEqual', auditArchitectures[architecture], [refuse]),
    load(fields.call),
    ...(architecture === 'x64' ? when('jumpIfAnyBit', x32Bit, [refuse]) : []),
    ...when('jumpIfGreater', lastKnownCall, [refuseAsUnknown]),
    ...rules,
    answer(answers.allow),
  ]
}

function encodedFilter(architecture: Architecture): Uint8Array {
  return encode(buildFilter(architecture))
}
