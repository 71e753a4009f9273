import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../base/clock.ts'
import { readBundledText } from '../../base/files.ts'
import { sha256 } from '../../base/ids.ts'
import { type Logger, silentLogger } from '../../base/logger.ts'
import { untilAborted } from '../../base/work.ts'
import { probe } from '../embedded/prove-driver.ts'
import { createReadableFolders } from '../embedded/readable-folders.ts'
import { stagePlace } from '../embedded/stage.ts'
import { checkedFolder, makeWritableFolder } from '../embedded/writable-folders.ts'
import {
  type SandboxCommand,
  type SandboxDriver,
  type SandboxOutcome,
  type SandboxProof,
  type SandboxTest,
  SandboxUnavailable,
} from '../sandbox.ts'
import { containerSpec, containerUser, makeRunFolder, type RunFolder, readStart } from './container-spec.ts'
import { prepareEngine, type ReadyEngine } from './engine.ts'
import { readAccount, runContainer } from './run-container.ts'

/** Separate per home, with a name that reveals nothing: code inside can read where its mounts come from. */
export function containerPlace(directory: string): string {
  const place = stagePlace(directory, { uid: process.geteuid?.() ?? 0, gid: 0, isOther: false })
  return join(place, place === directory ? 'container' : `container-${sha256(directory).slice(0, 16)}`)
}

/** Runs each command in a fresh container of Docker or Podman, over the engine's socket. */
export function createContainerDriver(options: {
  /** Null: the default locations. */
  socketPath: string | null
  /** The user's runtime directory, where a rootless engine listens. */
  runtimeDirectory: string | null
  /** A private directory. */
  directory: string
  /** The image for commands without their own. Null: an empty image with this machine's programs. */
  baseImage?: string | null
  logger?: Logger
  clock?: Clock
}): SandboxDriver {
  const { socketPath, runtimeDirectory, baseImage = null, logger = silentLogger, clock = systemClock() } = options
  const directory = containerPlace(options.directory)
  const writable = join(directory, 'folders')
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  let preparing: ReturnType<typeof prepare> | undefined

  /** A caller that aborts does not cancel the preparation for the others. */
  function ready(signal: AbortSignal): ReturnType<typeof prepare> {
    preparing ??= prepare()
    // An engine that is started later is found later.
    preparing.catch(() => {
      preparing = undefined
    })
    return untilAborted(preparing, signal)
  }

  async function prepare() {
    const engine = await prepareEngine({ socketPath, runtimeDirectory, directory, logger, signal: closing.signal })
    const account = { ...containerUser, isOther: true }
    return { ...engine, folders: createReadableFolders({ directory: engine.copies, account, isPrivate: false }) }
  }

  async function run(command: SandboxCommand): Promise<SandboxOutcome> {
    const signal = AbortSignal.any([command.signal, closing.signal])
    signal.throwIfAborted()
    const engine = await ready(signal)
    if (command.network.kind === 'proxy' && !engine.kit?.relay) throw new SandboxUnavailable(noRelay)
    const world = await worldOf(engine, command, signal)
    const { client, kit, seccomp, life, folders } = engine
    const held = await Promise.all(
      command.mounts.map(async ({ source, isWritable }) =>
        isWritable ? { path: checkedFolder(writable, source), release() {} } : await folders.hold(source),
      ),
    )
    try {
      const mounts = command.mounts.map((mount, index) => ({ ...mount, source: held[index]?.path ?? '' }))
      const place = join(directory, `run-${life}-${randomUUID().slice(0, 8)}`)
      await using folder = await makeRunFolder(place, { ...command, mounts })
      const inside = { ...command, environment: { ...world.environment, ...command.environment } }
      inside.mounts = [...world.mounts, ...folder.mounts]
      const spec = containerSpec({ command: inside, image: world.image, folder, kit, seccomp, life })
      const outcome = await runContainer({ client, clock, spec, command, signal })
      return await complete(outcome, folder, command)
    } finally {
      for (const { release } of held) release()
    }
  }

  async function worldOf({ images, machine }: ReadyEngine, { image }: SandboxCommand, signal: AbortSignal) {
    if (image) return { image: await images.ready(image, signal), mounts: [], environment: {} }
    if (baseImage !== null) return { image: baseImage, mounts: [], environment: {} }
    if (!machine) throw new SandboxUnavailable('A command without its own image needs a base image here')
    return { ...machine, image: await images.ready(machine.image, signal) }
  }

  async function test(signal: AbortSignal): Promise<SandboxTest> {
    const { kind, version, kit } = await ready(signal)
    const hiddenFile = join(directory, 'seccomp.json')
    const programs = { shell: kit?.shell ?? ['/bin/sh'], node: kit?.node ?? null }
    const proofs = await proveLimits({ run: tracked, ...programs, hiddenFile, signal })
    const failed = proofs.filter(({ ok }) => !ok)
    if (failed.length === 0) return { ok: true, proofs, lacks: kit?.relay ? [] : [{ what: noRelay, fix: null }] }
    const details = failed.map(({ name, detail }) => `${name} (${detail})`).join(', ')
    const fix = failed.some(({ name }) => name === 'memory' || name === 'processes') ? limitsFix : null
    return { ok: false, reason: `${kind} ${version} failed its test: ${details}`, proofs, fix }
  }

  async function tracked(command: SandboxCommand): Promise<SandboxOutcome> {
    const task = run(command)
    running.add(task)
    try {
      return await task
    } finally {
      running.delete(task)
    }
  }

  return {
    name: 'container',
    async test(signal) {
      try {
        return await test(AbortSignal.any([signal, closing.signal]))
      } catch (cause) {
        if (!(cause instanceof SandboxUnavailable)) throw cause
        return { ok: false, reason: cause.message, proofs: [], fix: cause.fix }
      }
    },
    run: tracked,
    async makeFolder(name) {
      // An engine without root cannot give files away; then the modes of the files are enough.
      const owner = process.geteuid?.() === 0 ? containerUser : null
      return makeWritableFolder({ place: writable, name, owner, entersByPath: false })
    },
    missingPrograms: async () => [],
    async close() {
      closing.abort(new Error('The sandbox is closing'))
      await Promise.allSettled(running)
      const engine = await preparing?.catch(() => undefined)
      if (engine) await rm(engine.copies, { recursive: true, force: true })
    },
  }
}

const noRelay = 'Network access through the proxy needs ldd and Node on this machine, with the C library of /bin/sh'
const limitsFix = 'Use an engine that runs as root, or a machine with cgroups version 2'

/** The files that the run left, read before they are removed. */
async function complete(
  outcome: Omit<SandboxOutcome, 'result'>,
  { resultPath, accountPath }: RunFolder,
  { limits }: SandboxCommand,
): Promise<SandboxOutcome> {
  const result = await readStart(resultPath, limits.outputBytes)
  const account = await readStart(accountPath, 4096)
  const { isOutOfMemory, peakMemoryBytes } = readAccount(new TextDecoder().decode(account.bytes))
  const complete = { ...outcome, result: result.bytes, peakMemoryBytes }
  if (outcome.end.kind !== 'exited' && outcome.end.kind !== 'killed') return complete
  if (isOutOfMemory) return { ...complete, end: { kind: 'out_of_memory' } }
  // The result has the same limit as the output.
  return result.isWhole ? complete : { ...complete, end: { kind: 'output_too_large', stream: 'stdout' } }
}

const limits = {
  memoryBytes: 48 * 1024 * 1024,
  processes: 12,
  wallMs: 20_000,
  outputBytes: 64 * 1024,
  scratchBytes: 1024 * 1024,
}

/**
 * Tests the driver's claims in containers. Engines accept limits that they do not enforce: rootless Podman on cgroups
 * version 1 only warns. The programs use only the shell, so that they run in every image, and each stops by itself if
 * nothing stops it.
 */
async function proveLimits(options: {
  run: (command: SandboxCommand) => Promise<SandboxOutcome>
  /** How the shell is started inside. */
  shell: readonly string[]
  /** How Node is started inside. Null if it is not available there. */
  node: readonly string[] | null
  /** A file of this machine that must not exist inside. */
  hiddenFile: string
  signal: AbortSignal
}): Promise<SandboxProof[]> {
  const { run, shell, node, hiddenFile, signal } = options
  const nonce = randomUUID()

  function tryOut(words: readonly string[], changed: Partial<typeof limits> = {}): Promise<SandboxOutcome> {
    const [program = '/bin/sh', ...args] = words
    const command = probe([program, ...args], signal, { ...limits, ...changed })
    return run({ ...command, environment: { NONCE: nonce, HIDDEN: hiddenFile } })
  }

  const [world, memory, processes, time, calls] = await Promise.all([
    tryOut([...shell, '-c', script('./prove-world.sh')]),
    tryOut([...shell, '-c', script('./prove-memory.sh')]),
    // Some shells retry for half a minute. Only the processes started by then count.
    tryOut([...shell, '-c', script('./prove-processes.sh')], { wallMs: 3_000 }),
    tryOut([...shell, '-c', 'while :; do :; done'], { wallMs: 300 }),
    node && tryOut([...node, '-e', callsScript], { memoryBytes: 256 * 1024 * 1024, processes: 32 }),
  ])
  const told = new Map([world, processes, ...(calls ? [calls] : [])].flatMap(linesOf))
  const says = (name: string) => told.get(name) ?? 'nothing'
  const prove = (name: string, isProven: boolean, detail: string): SandboxProof => ({ name, ok: isProven, detail })
  const result = new TextDecoder().decode(world.result)

  return [
    prove('run', says('nonce') === nonce && world.end.kind === 'exited', `ended as ${JSON.stringify(world.end)}`),
    prove('memory', memory.end.kind === 'out_of_memory', `above the limit the run ended as ${memory.end.kind}`),
    prove('processes', isBelow(says('processes'), limits.processes), `${says('processes')} processes could be started`),
    prove('time', time.end.kind === 'timed_out', `after its time limit the run ended as ${time.end.kind}`),
    prove('network', says('interfaces') === 'lo', `interfaces: ${says('interfaces')}`),
    prove('user', /^[1-9]/.test(says('Uid')), `user ids: ${says('Uid')}`),
    prove('capabilities', /^0+$/.test(says('CapBnd')) && says('NoNewPrivs') === '1', `can gain ${says('CapBnd')}`),
    prove('calls', says('Seccomp') === '2' && says('netlink') === (node ? 'closed' : 'nothing'), callsDetail(says)),
    prove('read-only root', /^ro\b/.test(says('options')) && says('run') === 'closed', `it is ${says('options')}`),
    prove('disk', says('scratch') === 'full', `above its size limit the writable folder was ${says('scratch')}`),
    prove('host files', says('hidden') === 'absent', `a file of this machine is ${says('hidden')}`),
    prove('result', result === nonce, result === '' ? 'nothing was received' : `received ${result.length} characters`),
  ]
}

/** `name=value` on each line. */
function linesOf({ stdout }: SandboxOutcome): [string, string][] {
  const lines = new TextDecoder().decode(stdout).split('\n')
  return lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)])
}

function callsDetail(says: (name: string) => string): string {
  return `seccomp mode ${says('Seccomp')}; a call that only this driver's list blocks: ${says('netlink')}`
}

function isBelow(text: string, limit: number): boolean {
  return /^\d+$/.test(text) && Number(text) > 0 && Number(text) < limit
}

const script = (name: string) => readBundledText(new URL(name, import.meta.url))
// Every engine's default list allows this call, so it shows which list is in effect.
const callsScript = `
try { require('node:os').networkInterfaces(); console.log('netlink=open') } catch { console.log('netlink=closed') }
`
