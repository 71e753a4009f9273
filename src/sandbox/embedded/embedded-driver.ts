import { execFile } from 'node:child_process'
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Clock, systemClock } from '../../base/clock.ts'
import { readIfThere, runtimeFolder } from '../../base/files.ts'
import type { Logger } from '../../base/logger.ts'
import { collectOutput } from '../../base/processes.ts'
import { reasonOf } from '../../base/text.ts'
import {
  endOfCode,
  type SandboxCommand,
  type SandboxDriver,
  type SandboxEnd,
  type SandboxFolder,
  type SandboxOutcome,
  type SandboxTest,
  SandboxUnavailable,
} from '../sandbox.ts'
import type { Architecture } from '../system-calls.ts'
import { findCgroups } from './cgroups.ts'
import { instanceName, removeAbandoned } from './janitor.ts'
import type { PreparedCommand, World } from './launcher.ts'
import { prepareSandboxCommand } from './prepare-command.ts'
import { proveDriver, proveFork } from './prove-driver.ts'
import { type SandboxAccount, sandboxAccount } from './readable-folders.ts'
import { findSystemProgram, hasProgram, openStage, stagePlace } from './stage.ts'
import { createWorlds, type ForkServerUse } from './worlds.ts'
import { makeWritableFolder } from './writable-folders.ts'

interface EmbeddedDriverOptions {
  /** A private folder for the driver's files. */
  directory: string
  logger: Logger
  clock?: Clock
  /** Switches single controls off, so that a test can see its probes fail. Never set by the program. */
  without?: readonly SandboxControl[]
  /** How Python is started; values other than `lazy` are for tests and measurements. */
  forkServer?: ForkServerUse
  /** The launcher's bubblewrap, if not in the default place; for tests. */
  fetched?: string
}

/**
 * Runs code in bubblewrap, without a container engine: fresh namespaces, a separate account, a system call filter and a
 * cgroup for each call. Plain Python scripts are forked from a running interpreter under the same conditions.
 */
export function createEmbeddedDriver(options: EmbeddedDriverOptions): SandboxDriver {
  let opening: ReturnType<typeof openDriver> | undefined
  let isClosed = false

  async function opened() {
    if (isClosed) throw new SandboxUnavailable('The sandbox is closed')
    opening ??= openDriver(options).catch((cause) => {
      // A missing requirement may be present the next time.
      opening = undefined
      throw cause
    })
    return opening
  }

  async function test(signal: AbortSignal): Promise<SandboxTest> {
    try {
      const driver = await opened()
      const proofs = await proveDriver({ ...driver, signal })
      const failed = proofs.filter(({ ok }) => !ok)
      if (failed.length === 0) return { ok: true, proofs, lacks: driver.lacks, program: driver.program }
      const reason = failed.map(({ name, detail }) => `${name}: ${detail}`).join('; ')
      return { ok: false, reason, proofs, fix: null }
    } catch (cause) {
      signal.throwIfAborted()
      const fix = cause instanceof SandboxUnavailable ? cause.fix : namespaceFix()
      return { ok: false, reason: reasonOf(cause), proofs: [], fix }
    }
  }

  return {
    name: 'embedded',
    test,
    async run(command) {
      command.signal.throwIfAborted()
      return (await opened()).run(command)
    },
    makeFolder: async (name) => (await opened()).makeFolder(name),
    missingPrograms: async (names) => names.filter((name) => !hasProgram(name)),
    async close() {
      isClosed = true
      const driver = await opening?.catch(() => undefined)
      await driver?.close()
    },
  }
}

/** System settings that forbid user namespaces, and how to allow them. */
const settings: readonly (readonly [name: string, closed: string, open: string])[] = [
  ['kernel.unprivileged_userns_clone', '0', '1'],
  ['kernel.apparmor_restrict_unprivileged_userns', '1', '0'],
  ['user.max_user_namespaces', '0', '15000'],
]

/** The command that would enable bubblewrap, if the reason is known. */
export function namespaceFix(
  read: (name: string) => string | undefined = (name) => readIfThere(`/proc/sys/${name.replaceAll('.', '/')}`).trim(),
): string | null {
  const found = settings.find(([name, closed]) => read(name) === closed)
  return found ? `sudo sysctl -w ${found[0]}=${found[2]}` : null
}

type MachineCheck =
  /** `libraries` is the folder of its libraries, if the launcher had to fetch them too. */
  | { ok: true; machine: { bubblewrap: string; libraries: string | undefined; architecture: Architecture } }
  | { ok: false; reason: string; fix: string | null }

/** Checks the requirements of the driver. The options are for tests. */
export async function checkMachine(
  options: {
    platform?: string
    arch?: string
    find?: (program: string) => string | undefined
    readVersion?: (bubblewrap: string, libraries: string | undefined) => Promise<string>
    fetched?: string
  } = {},
): Promise<MachineCheck> {
  const {
    platform = process.platform,
    arch = process.arch,
    find = findSystemProgram,
    readVersion = askVersion,
    fetched = fetchedFolder,
  } = options
  if (platform !== 'linux') {
    const reason = `the embedded sandbox requires Linux, and this is ${platform}: use a container engine to run code here`
    return { ok: false, reason, fix: null }
  }
  if (arch !== 'x64' && arch !== 'arm64') {
    return { ok: false, reason: `there is no system call filter for ${arch}`, fix: null }
  }
  const installer = installers.find((command) => find(command.split(' ', 1)[0] ?? ''))
  const fix = installer === undefined ? null : `sudo ${installer} bubblewrap`
  const ofSystem = find('bwrap')
  const found = ofSystem ? { bubblewrap: ofSystem, libraries: undefined } : ownBubblewrap(fetched)
  if (!found) return { ok: false, reason: 'bubblewrap is not installed', fix }
  if ('reason' in found) return { ok: false, reason: found.reason, fix }
  const { bubblewrap, libraries } = found
  const [version, major, minor] = /(\d+)\.(\d+)[\d.]*/.exec(await readVersion(bubblewrap, libraries)) ?? []
  if (!version) return { ok: false, reason: 'bubblewrap does not report its version', fix }
  // Since 0.7 a scratch disk can have a size.
  if (Number(major) === 0 && Number(minor) < 7) {
    return { ok: false, reason: `bubblewrap ${version} is too old: 0.7 is needed`, fix }
  }
  return { ok: true, machine: { bubblewrap, libraries, architecture: arch } }
}

/** The folder in which `scripts/launcher/sandbox.cjs` puts it. */
const fetchedFolder = join(runtimeFolder, 'bubblewrap')

/**
 * The bubblewrap that the launcher fetched. The sandbox depends on it, so a file that another user could have changed
 * is rejected.
 */
function ownBubblewrap(
  folder: string,
): { bubblewrap: string; libraries: string | undefined } | { reason: string } | undefined {
  const bubblewrap = join(folder, 'bwrap')
  const libraries = join(folder, 'lib')
  if (!lstatSync(bubblewrap, { throwIfNoEntry: false })) return undefined
  const hasLibraries = lstatSync(libraries, { throwIfNoEntry: false }) !== undefined
  const parts = hasLibraries ? [libraries, ...readdirSync(libraries).map((name) => join(libraries, name))] : []
  const loose = [folder, bubblewrap, ...parts].find((path) => !isOursAlone(path))
  if (loose === undefined) return { bubblewrap, libraries: hasLibraries ? libraries : undefined }
  return { reason: `${loose} could have been changed by another user: remove ${folder} and start again` }
}

function isOursAlone(path: string): boolean {
  const found = lstatSync(path)
  const isOwned = found.uid === 0 || found.uid === process.geteuid?.()
  return isOwned && (found.mode & 0o022) === 0 && !found.isSymbolicLink()
}

async function askVersion(bubblewrap: string, libraries: string | undefined): Promise<string> {
  const options = { env: libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }, timeout: 10_000 }
  return (await promisify(execFile)(bubblewrap, ['--version'], options).catch(() => ({ stdout: '' }))).stdout
}

const installers = ['apt-get install', 'dnf install', 'pacman -S', 'zypper install', 'apk add']

const memoryCheckMs = 200
/** Without a cgroup, only this check limits many processes together. */
const watchedMemoryCheckMs = 25

/**
 * Runs the command in the world to its end and discards the world. Throws the signal's reason, or an error if the world
 * failed.
 */
async function driveCall(world: World, command: PreparedCommand, clock: Clock): Promise<SandboxOutcome> {
  const { limits, signal } = command
  const startedAt = performance.now()
  let stopped: SandboxEnd | undefined

  function stop(why: SandboxEnd): void {
    stopped ??= why
    world.kill()
  }

  const stdout = collectOutput(limits.outputBytes, () => stop({ kind: 'output_too_large', stream: 'stdout' }))
  const stderr = collectOutput(limits.outputBytes, () => stop({ kind: 'output_too_large', stream: 'stderr' }))
  // The result has the same limit as the output.
  const result = collectOutput(limits.outputBytes, () => stop({ kind: 'output_too_large', stream: 'stdout' }))
  const reading = Promise.all([
    world.streams.read('stdout', stdout.take),
    world.streams.read('stderr', stderr.take),
    world.streams.read('result', result.take),
  ])
  const onAbort = () => world.kill()
  signal.addEventListener('abort', onAbort, { once: true })
  // The kernel kills one process when memory runs out; the others would continue without it.
  const isTooLarge = () => (command.lowered ? memoryOf(world) > limits.memoryBytes : isOutOfMemory(world))
  const watching = setInterval(
    () => isTooLarge() && stop({ kind: 'out_of_memory' }),
    command.lowered ? watchedMemoryCheckMs : memoryCheckMs,
  )
  const cancelTimeout = clock.after(limits.wallMs, () => stop({ kind: 'timed_out' }))
  try {
    signal.throwIfAborted()
    const own = world.overhead(command)
    world.cgroup?.limit({
      memoryBytes: limits.memoryBytes + own.memoryBytes,
      processes: limits.processes + own.processes,
    })
    world.streams.write('stdin', command.stdin)
    world.start(command)
    const ended = await world.ended
    await reading
    signal.throwIfAborted()
    const wasOutOfMemory = isOutOfMemory(world) && stopped?.kind !== 'output_too_large'
    // If the kernel kills a whole cgroup at once, no process is left to report how the command ended.
    if (ended.kind === 'broken' && !stopped && !wasOutOfMemory) {
      const said = Buffer.from(stderr.bytes()).toString()
      throw new Error(`The sandbox could not be set up: ${ended.reason} ${said}`.trim())
    }
    return {
      end: wasOutOfMemory
        ? { kind: 'out_of_memory' }
        : (stopped ?? endOfCode(ended.kind === 'exited' ? ended.code : 0)),
      stdout: stdout.bytes(),
      stderr: stderr.bytes(),
      result: result.bytes(),
      durationMs: performance.now() - startedAt,
      peakMemoryBytes: world.cgroup?.peakMemoryBytes() ?? null,
      driver: 'embedded',
    }
  } finally {
    clearInterval(watching)
    cancelTimeout()
    signal.removeEventListener('abort', onAbort)
    await world.dispose()
  }
}

function isOutOfMemory({ cgroup }: World): boolean {
  return (cgroup?.memoryKills() ?? 0) > 0
}

/** The memory of all processes of a world, as the kernel counts it: shared memory counts once. */
function memoryOf(world: World): number {
  const first = world.firstProcess()
  if (first === undefined) return 0
  const waiting = [first]
  let bytes = 0
  for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
    bytes += ownMemoryOf(pid)
    waiting.push(...childrenOf(pid))
  }
  return bytes
}

function ownMemoryOf(pid: number): number {
  const kilobytes = (text: string, name: RegExp) =>
    [...text.matchAll(name)].reduce((sum, [, number]) => sum + Number(number), 0)
  const shares = readIfThere(`/proc/${pid}/smaps_rollup`, 'latin1')
  const counted = kilobytes(shares, /^Pss_(?:Anon|Shmem):\s+(\d+)/gm)
  if (counted > 0) return counted * 1024
  // The kernel does not show the shares of every process; this fallback counts shared memory more than once.
  return kilobytes(readIfThere(`/proc/${pid}/status`, 'latin1'), /^Rss(?:Anon|Shmem):\s+(\d+)/gm) * 1024
}

function childrenOf(pid: number): number[] {
  let threads: string[] = []
  try {
    threads = readdirSync(`/proc/${pid}/task`)
  } catch {
    // It ended.
  }
  return threads.flatMap((thread) =>
    readIfThere(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
  )
}

/** The driver's controls, each of which a test can remove to see its effect. */
export type SandboxControl = 'seccomp' | 'uid' | 'cgroup'

/** After this idle time, prepared sandboxes are released. */
const idleMs = 5 * 60_000

/** Systems delete files that were unused for a month from the stage's place. */
const touchMs = 7 * 24 * 60 * 60_000

/** Opens the driver on this machine; the caller closes it. Throws `SandboxUnavailable` if the machine lacks something. */
async function openDriver(options: EmbeddedDriverOptions) {
  const { directory, logger, clock = systemClock(), without = [], forkServer = 'lazy', fetched } = options
  const checked = await checkMachine(fetched === undefined ? {} : { fetched })
  if (!checked.ok) throw new SandboxUnavailable(checked.reason, checked.fix)
  const account = without.includes('uid') ? hostRoot : await sandboxAccount()
  const instance = instanceName()
  const found = findCgroups({ instance, account })
  await removeAbandoned({ stagePlace: stagePlace(directory, account), cgroupPlaces: found.places })
  const hasFilter = !without.includes('seccomp')
  const { bubblewrap, libraries, architecture } = checked.machine
  const stage = await openStage({ directory, instance, account, architecture, hasFilter })
  const cgroups = without.includes('cgroup') ? undefined : found.open?.()
  const hostPaths = [directory, stage.filter, '/root', '/home', '/etc/shadow', '/boot', '/sys/kernel']
  // Fetched ones may be in a home that the sandbox's account cannot enter.
  const held = async (path: string) => (await stage.folders.hold(path)).path
  const worlds = createWorlds({
    bubblewrap: await held(bubblewrap),
    libraries: libraries === undefined ? undefined : await held(libraries),
    stage,
    cgroups,
    forkServer,
    logger,
    isSound,
  })
  const ending = new AbortController()
  let cancelTouch = () => {}
  const touchLater = () => {
    cancelTouch = clock.after(touchMs, () => {
      stage.touch()
      touchLater()
    })
  }
  touchLater()
  let calls = 0
  let underWay = 0
  let cancelRest = () => {}

  async function runIn(take: typeof worlds.take, command: SandboxCommand): Promise<SandboxOutcome> {
    calls += 1
    underWay += 1
    cancelRest()
    const call = { stage, name: String(calls), hasCgroup: cgroups !== undefined }
    try {
      const { prepared, release } = await prepareSandboxCommand({ command, ...call })
      try {
        const world = await take(prepared)
        return await driveCall(world, prepared, clock)
      } finally {
        await release()
      }
    } finally {
      underWay -= 1
      if (underWay === 0 && !ending.signal.aborted) cancelRest = clock.after(idleMs, () => void worlds.rest())
    }
  }

  async function isSound(take: () => Promise<World>): Promise<boolean> {
    const proofs = await proveFork((command) => runIn(take, command), hostPaths, ending.signal)
    const failed = proofs.filter(({ ok }) => !ok)
    for (const { name, detail } of failed) logger.warn('A forked sandbox failed its test', { name, detail })
    return failed.length === 0
  }

  return {
    async run(command: SandboxCommand): Promise<SandboxOutcome> {
      const signal = AbortSignal.any([command.signal, ending.signal])
      return runIn(worlds.take, { ...command, signal })
    },
    async makeFolder(name: string): Promise<SandboxFolder> {
      const owner = account.isOther ? { uid: account.uid, gid: account.gid } : null
      return makeWritableFolder({ place: stage.writable, name, owner, entersByPath: true })
    },
    /** Files of this machine that no sandbox may see. */
    hostPaths,
    limitsMemory: cgroups !== undefined,
    /** The bubblewrap in use. */
    program: bubblewrap,
    lacks: cgroups ? [] : [{ what: noCgroup, fix: found.fix }],
    async close(): Promise<void> {
      ending.abort(new SandboxUnavailable('The sandbox is closed'))
      cancelRest()
      cancelTouch()
      while (underWay > 0) await new Promise((resolve) => setTimeout(resolve, 5))
      await worlds.rest()
      await cgroups?.remove()
      await stage.remove()
    },
  }
}

/** For tests only: a sandbox without a separate account. */
const hostRoot: SandboxAccount = { uid: 0, gid: 0, isOther: false }

const noCgroup =
  'there is no cgroup, so memory is monitored instead of limited by the kernel: only a few processes may run, and a program can exceed its limit for a moment'
