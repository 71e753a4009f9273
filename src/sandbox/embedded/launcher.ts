import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, writeSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import { z } from 'zod'
import { hasCode, readIfThere } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import { setReferenced, tryKill } from '../../base/processes.ts'
import type { SandboxCommand, SandboxLimits, SandboxMount } from '../sandbox.ts'
import type { Cgroup, CgroupLimits } from './cgroups.ts'
import { sandboxMark } from './janitor.ts'
import {
  findSystemProgram,
  innerDevices,
  innerDirectories,
  innerFiles,
  innerLinks,
  ownNode,
  ownPrograms,
  type Stage,
  sandboxUser,
} from './stage.ts'

/** How long a sandbox may take to end with its first process before everything in its cgroup is killed. */
export const graceMs = 1_000

/** If this process cannot open more files, the child has no pipes either: throws, and the cgroup is removed too. */
export async function untilSpawned(child: ChildProcess, cgroup: Cgroup | undefined): Promise<void> {
  if (child.pid !== undefined || child.stdio) return
  const failed = new Promise<Error>((resolve) => child.once('error', resolve))
  await cgroup?.remove()
  throw await failed
}

/**
 * A bubblewrap that has dropped to the sandbox's account, joined its cgroup and waits for its arguments. Resolves when
 * it is ready; on failure throws, and the cgroup is removed too.
 */
export async function startLauncher(options: {
  bubblewrap: string
  /** The library folder of bubblewrap, if not the system's. */
  libraries: string | undefined
  stage: Stage
  cgroup: Cgroup | undefined
}): Promise<World> {
  const { stage, cgroup } = options
  const strays = strayDescriptors()
  // Dash accepts only descriptors of one digit. Bash is slower to start, and only used if needed.
  const child = spawnShell(strays.some((number) => number > 9) ? '/bin/bash' : '/bin/sh', stage, cgroup)
  await untilSpawned(child, cgroup)
  const script = pipeOf(child, 0)
  const status = readLauncherStatus(pipeOf(child, descriptors.status))
  const ended = new Promise<WorldEnd>((resolve) => {
    child.once('error', (error) => resolve({ kind: 'broken', reason: error.message }))
    child.once('close', () => resolve(status.end()))
  })
  script.on('error', () => undefined)
  script.write(preparation(cgroup?.joinFiles.length ?? 0, strays))

  function kill(): void {
    // The pid of a process that is gone may belong to another one by now.
    if (child.exitCode !== null || child.signalCode !== null) return
    const first = status.firstProcess()
    // All others end with the first process of the namespace, and bubblewrap reaps them.
    if (first !== undefined) tryKill(first)
    else if (cgroup) cgroup.kill()
    else if (child.pid !== undefined) tryKill(child.pid)
    setTimeout(() => cgroup?.kill(), graceMs).unref()
  }

  async function untilGone(): Promise<void> {
    setReferenced(child, true)
    kill()
    await ended
    await cgroup?.remove()
  }

  try {
    const hasBegun = await Promise.race([status.ready.then(() => true), ended.then(() => false)])
    if (!hasBegun || child.pid === undefined) throw new Error('The shell that starts bubblewrap failed to start')
    const { request, stdin, result } = descriptors
    const streams = openStreams(child.pid, { stdin, request, stdout: 1, stderr: 2, result })
    const program = [options.bubblewrap, ...fixedArguments(stage.hasFilter), '--']
    // The program of the first process is the same for every command.
    const words = [...program, stage.firstShell, '-c', `eval "$${entryName}"`].map(quoted).join(' ')
    // Bubblewrap removes the variable with all others (--clearenv).
    const found = options.libraries === undefined ? '' : `export LD_LIBRARY_PATH=${quoted(options.libraries)}\n`
    script.end(`${found}exec ${words} <&${stdin} ${stdin}<&-\n`)
    setReferenced(child, false)
    return {
      streams,
      cgroup,
      firstProcess: status.firstProcess,
      overhead: entryOverhead,
      ended,
      start(command) {
        setReferenced(child, true)
        const lines = callArguments(stage, command)
        streams.write('request', Buffer.from(lines.map((line) => `${line}\0`).join('')))
      },
      kill,
      async dispose() {
        await untilGone()
        streams.close()
      },
    }
  } catch (cause) {
    await untilGone()
    throw cause
  }
}

function spawnShell(shell: string, { account, mark, ...stage }: Stage, cgroup: Cgroup | undefined): ChildProcess {
  const filter = stage.hasFilter ? openSync(stage.filter, 'r') : 'ignore'
  // Opened by this program, because its permissions decide about writing there, not the shell's.
  const groups = (cgroup?.joinFiles ?? []).map((file) => openSync(file, 'w'))
  const [firstGroup = 'ignore', secondGroup = 'ignore'] = groups
  try {
    return spawn(shell, [], {
      ...(account.isOther ? { uid: account.uid, gid: account.gid } : {}),
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', [sandboxMark]: mark },
      // A separate session: a Ctrl-C in this program's terminal must not reach the code.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore', 'ignore', filter, 'ignore', firstGroup, secondGroup, 'ignore', 'pipe'],
    })
  } finally {
    for (const descriptor of [filter, ...groups]) if (typeof descriptor === 'number') closeSync(descriptor)
  }
}

/** Joins the cgroup and creates the pipes: a here-document is a pipe with that text in it. */
function preparation(groups: number, strays: readonly number[]): string {
  const { request, stdin, status } = descriptors
  const pipe = (number: number) => `exec ${number}<<.\n\n.`
  return [
    ...strays.map((number) => `exec ${number}>&-`),
    ...['umask 022', 'ulimit -c 0', 'ulimit -n 1024'],
    ...Array.from({ length: groups }, (_, index) => `echo 0 >&${6 + index} || exit 1`),
    'exec 6>&- 7>&-',
    ...[1, 2, 3].flatMap((number) => [pipe(stdin), `exec ${number}>/proc/self/fd/${stdin}`]),
    ...[pipe(stdin), pipe(request)],
    // In a subshell: a shell redirects its own output for a moment to write elsewhere.
    `(echo '{"ready":true}' >&${status})\n`,
  ].join('\n')
}

function pipeOf(child: ChildProcess, number: number): Duplex {
  return child.stdio[number as 0] as unknown as Duplex
}

/** The descriptors of a launcher, before bubblewrap closes its own. One digit each, because of dash. */
const descriptors = { result: 3, filter: 4, request: 5, stdin: 8, status: 9 } as const

/**
 * The arguments of every sandbox, on the command line. Bubblewrap reads the rest from a pipe: if this program dies in
 * the middle of that, the result must still be a sandbox, and one that dies too.
 */
function fixedArguments(hasFilter: boolean): string[] {
  return [
    ...['--unshare-user', '--uid', String(sandboxUser.uid), '--gid', String(sandboxUser.gid)],
    ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup', '--hostname', sandboxUser.name],
    ...['--new-session', '--die-with-parent', '--as-pid-1', '--clearenv'],
    ...['--json-status-fd', String(descriptors.status)],
    ...(hasFilter ? ['--seccomp', String(descriptors.filter)] : []),
    ...['--args', String(descriptors.request)],
  ]
}

/**
 * The arguments that depend on the call: the root, the network, the environment. Other users of the machine cannot see
 * them.
 */
function callArguments({ root, binds }: Stage, command: PreparedCommand): string[] {
  const readOnly = ({ source, target }: (typeof binds)[number]) => ['--ro-bind', source, target]
  const asAsked = (mount: SandboxMount) => (mount.isWritable ? ['--bind', mount.source, mount.target] : readOnly(mount))
  return [
    ...root.flatMap((entry) =>
      entry.kind === 'folder' ? ['--ro-bind', entry.path, entry.path] : ['--symlink', entry.target, entry.path],
    ),
    ...binds.flatMap(readOnly),
    ...(command.network.kind === 'host' ? hostNetwork : ['--unshare-net']),
    // Root of a namespace may write some kernel settings, but not on a read-only mount.
    ...['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys'],
    ...innerDevices.flatMap((device) => ['--dev-bind', device, device]),
    ...innerDirectories.flatMap((path) => ['--dir', path]),
    ...Object.entries(innerLinks).flatMap(([path, target]) => ['--symlink', target, path]),
    ...(command.isWritable
      ? ['--size', String(command.limits.scratchBytes), '--perms', '1777', '--tmpfs', '/tmp']
      : []),
    ...command.binds.flatMap(asAsked),
    ...['--remount-ro', '/', '--chdir', command.workingDirectory],
    ...Object.entries(entryEnvironment(command)).flatMap(([name, value]) => ['--setenv', name, value]),
  ]
}

/** The name resolution files of the machine's network. */
const hostNetwork = ['/etc/hosts', '/etc/resolv.conf'].flatMap((file) => ['--ro-bind-try', file, file])

/** The program of the sandbox's first process, in its environment, because it starts before the command is known. */
const entryName = 'FAMILIAR_START'
/** The kernel limits one variable to 128 kB. */
const maxPartLength = 100_000

/** The complete environment for bubblewrap. Variables for the first process do not reach the command. */
function entryEnvironment(command: PreparedCommand): Record<string, string> {
  const script = entryScript(command)
  const count = Math.ceil(script.length / maxPartLength)
  const names = Array.from({ length: count }, (_, index) => `${entryName}_${index}`)
  const parts = names.map((name, index) => [name, script.slice(index * maxPartLength, (index + 1) * maxPartLength)])
  const start = `eval "unset ${entryName} ${names.join(' ')}; ${names.map((name) => `$${name}`).join('')}"`
  return { ...command.environment, ...Object.fromEntries(parts), [entryName]: start }
}

/**
 * Starts the command and waits for it. Bubblewrap has its own first process, but leaves it behind when the program
 * ends, to be reaped by the machine. This one stays until everything is over, and bubblewrap with it. It reports
 * nothing about a program that was killed.
 */
function entryScript(command: PreparedCommand): string {
  const { relay, lowered, environment } = command
  // A shell keeps only variables with valid shell names.
  const odd = Object.entries(environment).filter(([name]) => !/^[A-Za-z_]\w*$/.test(name))
  const words = [
    ...(odd.length > 0 ? ['env', ...odd.map(([name, value]) => `${name}=${value}`)] : []),
    ...(relay ? [...relayProgram(), String(relay.port), relay.path] : []),
    ...command.argv,
  ]
  const program = words.map(quoted).join(' ')
  return `${lowered ? lowerLimits(lowered) : ''}exec 5>&2 2>/dev/null; ( exec ${program} 2>&5 5>&- ); exit $?`
}

/** Limits are set inside: outside they would count all of the account's processes. Shells differ in a letter. */
function lowerLimits({ processes, dataBytes, spaceBytes }: ReturnType<typeof loweredLimits>): string {
  // The first process counts too.
  const count = processes + 1
  const space = spaceBytes === null ? '' : `ulimit -v ${Math.ceil(spaceBytes / 1024)}; `
  return `ulimit -u ${count} 2>/dev/null || ulimit -p ${count}; ulimit -d ${Math.ceil(dataBytes / 1024)}; ${space}`
}

/** Bubblewrap, the first process, and perhaps the relay. */
function entryOverhead({ relay }: PreparedCommand): CgroupLimits {
  if (!relay) return { processes: 2, memoryBytes: 0 }
  const isPython = findSystemProgram('python3') !== undefined
  // Node has threads, which count like processes.
  return { processes: isPython ? 3 : 14, memoryBytes: (isPython ? 10 : 64) * 1024 * 1024 }
}

/** Measured: Python starts in 10 ms with 8 MB, Node in 45 ms with 45 MB. */
function relayProgram(): string[] {
  const python = findSystemProgram('python3')
  if (python) return [python, '-I', '-S', `${innerFiles}/relay.py`]
  return [ownNode() ? `${ownPrograms}/node` : 'node', `${innerFiles}/relay.mjs`]
}

/** Quoted as one word for a shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`
}

/** Each of them can use the whole memory, so there are only a few. */
const fewProcesses = 8
/** Node has a dozen threads, and they count. */
const processesOfNode = 20
/** Libraries and files that are mapped but not used; in Node also space for compiled code. */
const mappedBytes = 512 * 1024 * 1024

/** The limits of a single process if no cgroup counts them together. */
export function loweredLimits(limits: SandboxLimits, program: string) {
  const isNode = program === 'node' || program.endsWith('/node')
  return {
    processes: Math.min(limits.processes, isNode ? processesOfNode : fewProcesses),
    /** The memory that each process can write. */
    dataBytes: limits.memoryBytes + (isNode ? mappedBytes : 0),
    /** Everything a process has mapped; null for Node, which reserves far more than it uses. */
    spaceBytes: isNode ? null : limits.memoryBytes + mappedBytes,
  }
}

const statusLine = z.object({
  ready: z.boolean().optional(),
  'child-pid': z.number().int().positive().optional(),
  'exit-code': z.number().int().optional(),
})

/** Status messages of the launching shell and then bubblewrap, a line of JSON each. The code cannot write there. */
export function readLauncherStatus(stream: Readable) {
  let told: z.infer<typeof statusLine> = {}
  let rest = ''
  const ready = Promise.withResolvers<void>()
  stream.setEncoding('utf8')
  stream.on('error', () => undefined)
  stream.on('data', (part: string) => {
    const lines = `${rest}${part}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const parsed = parseJson(line, statusLine)
      if (parsed.ok) told = { ...told, ...parsed.value }
    }
    if (told.ready) ready.resolve()
  })
  return {
    ready: ready.promise,
    /** The pid as this program sees it. */
    firstProcess: () => told['child-pid'],
    end(): WorldEnd {
      const code = told['exit-code']
      return code === undefined ? { kind: 'broken', reason: 'bubblewrap failed.' } : { kind: 'exited', code }
    },
  }
}

const closeOnExec = 0o2000000

/**
 * The descriptors that every child of this process would inherit. Node marks its own, and those it was started with up
 * to the first gap; later ones belong to the program that started this one, and can be anything.
 *
 * @public A test calls it in a separate process.
 */
export function strayDescriptors(): number[] {
  const open = readdirSync('/proc/self/fdinfo').map(Number)
  return open.filter((descriptor) => {
    // The descriptor of the directory listing itself is gone.
    const flags = /^flags:\s*(\d+)/m.exec(readIfThere(`/proc/self/fdinfo/${descriptor}`))?.[1]
    return descriptor > 2 && flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0
  })
}

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = constants

const inbound = ['stdin', 'request'] as const
const outbound = ['stdout', 'stderr', 'result'] as const

type Inbound = (typeof inbound)[number]
type Outbound = (typeof outbound)[number]

/** The descriptor of each pipe in the process that created it. */
export type StreamNumbers = Readonly<Record<Inbound | Outbound, number>>

/**
 * Opens the other ends of pipes that a process created for its call. Node gives its children socket pairs, on which `>
 * /dev/stderr` and `cat /dev/stdin` fail; a named pipe would hang once its writer is gone. Earlier content of the pipes
 * is discarded. These are this program's ends; the caller closes them.
 */
export function openStreams(pid: number, numbers: StreamNumbers) {
  const open = new Map<string, number>()
  const sockets: Socket[] = []
  try {
    for (const name of inbound) {
      const path = `/proc/${pid}/fd/${numbers[name]}`
      const reader = openPipe(path, O_RDONLY)
      drain(reader)
      closeSync(reader)
      open.set(name, openPipe(path, O_WRONLY))
    }
    for (const name of outbound) {
      const reader = openPipe(`/proc/${pid}/fd/${numbers[name]}`, O_RDONLY)
      open.set(name, reader)
      drain(reader)
    }
  } catch (cause) {
    for (const descriptor of open.values()) closeSync(descriptor)
    throw cause
  }

  function take(name: string): number {
    const descriptor = open.get(name)
    if (descriptor === undefined) throw new Error(`The pipe ${name} is in use or closed`)
    open.delete(name)
    return descriptor
  }

  return {
    /** Sends everything and closes. A reader that closes early is not an error. */
    write(name: Inbound, bytes: Uint8Array): void {
      const descriptor = take(name)
      const written = writeAtOnce(descriptor, bytes)
      if (written === bytes.length) {
        closeSync(descriptor)
        return
      }
      const socket = new Socket({ fd: descriptor, readable: false, writable: true })
      sockets.push(socket)
      socket.on('error', () => undefined)
      socket.end(bytes.subarray(written))
    },
    /** Resolves when no writer is left. */
    read(name: Outbound, onBytes: (bytes: Uint8Array) => void): Promise<void> {
      const socket = new Socket({ fd: take(name), readable: true, writable: false })
      sockets.push(socket)
      return new Promise((resolve) => {
        socket.on('error', () => undefined)
        socket.on('data', onBytes)
        socket.on('close', () => resolve())
      })
    },
    close(): void {
      for (const descriptor of open.values()) closeSync(descriptor)
      open.clear()
      for (const socket of sockets) socket.destroy()
    },
  }
}

function openPipe(path: string, mode: number): number {
  const descriptor = openSync(path, mode | O_NONBLOCK)
  if (fstatSync(descriptor).isFIFO()) return descriptor
  closeSync(descriptor)
  throw new Error(`${path} is not a pipe`)
}

function drain(descriptor: number): void {
  try {
    const buffer = Buffer.alloc(16)
    while (readSync(descriptor, buffer) > 0);
  } catch (cause) {
    if (!hasCode(cause, 'EAGAIN')) throw cause
  }
}

/** A pipe buffers 64 kB without a reader; most payloads are smaller. */
function writeAtOnce(descriptor: number, bytes: Uint8Array): number {
  try {
    return bytes.length === 0 ? 0 : writeSync(descriptor, bytes)
  } catch (cause) {
    if (hasCode(cause, 'EAGAIN')) return 0
    // The reader is gone.
    if (hasCode(cause, 'EPIPE')) return bytes.length
    throw cause
  }
}

/** A fully prepared command: its mounts are readable by the sandbox's account. */
export interface PreparedCommand extends SandboxCommand {
  /** In mount order. */
  binds: readonly SandboxMount[]
  /** With a proxy network: the loopback port inside, and the socket that it leads to. */
  relay: { port: number; path: string } | null
  /** Set if there is no cgroup. */
  lowered: ReturnType<typeof loweredLimits> | null
}

export type WorldEnd =
  | { kind: 'exited'; code: number }
  /** It never ran the command. */
  | { kind: 'broken'; reason: string }

/**
 * A sandbox for one command. It is prepared before the command is known, as far as possible, because joining a cgroup
 * alone takes ten milliseconds; it is used once.
 */
export interface World {
  readonly streams: ReturnType<typeof openStreams>
  readonly cgroup: Cgroup | undefined
  /** By its pid on this machine, once known. All others descend from it. */
  firstProcess(): number | undefined
  /** The sandbox's own usage, which is added to the limits. */
  overhead(command: PreparedCommand): CgroupLimits
  start(command: PreparedCommand): void
  /** Resolves when none of its processes is left. Never rejects. */
  readonly ended: Promise<WorldEnd>
  /** Kills it at once; may be called at any time. */
  kill(): void
  /** Kills remaining processes and releases cgroup, pipes and descriptors. */
  dispose(): Promise<void>
}
