import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../base/clock.ts'
import { type Logger, silentLogger } from '../../base/logger.ts'
import { createReadableFolders } from '../embedded/stage/readable-folders.ts'
import {
  type SandboxCommand,
  type SandboxDriver,
  type SandboxOutcome,
  type SandboxTest,
  SandboxUnavailable,
} from '../sandbox.ts'
import { containerSpec, innerUser } from './container-spec.ts'
import { prepareEngine, type ReadyEngine } from './prepare-engine.ts'
import { proveLimits } from './prove-limits.ts'
import { readAccount, runContainer } from './run-container.ts'
import { makeRunFolder, type RunFolder, readStart } from './run-folder.ts'
import { untilAborted } from './until-aborted.ts'

/** Runs each command in a fresh container of Docker or Podman, over the engine's socket. */
export function createContainerDriver(options: {
  /** Null: the usual places. */
  socketPath: string | null
  /** The user's own directory for sockets, where an engine of theirs listens. */
  runtimeDirectory: string | null
  /** Ours alone. */
  directory: string
  /** What commands without an image of their own run in. Null: an empty one with this machine's programs. */
  baseImage?: string | null
  logger?: Logger
  clock?: Clock
}): SandboxDriver {
  const { socketPath, runtimeDirectory, baseImage = null, logger = silentLogger, clock = systemClock() } = options
  const directory = join(options.directory, 'container')
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  let preparing: ReturnType<typeof prepare> | undefined

  /** Whoever asks first does not take the others along when it gives up. */
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
    const account = { ...innerUser, isOther: true }
    return { ...engine, folders: createReadableFolders({ directory: engine.copies, account, isPrivate: false }) }
  }

  async function run(command: SandboxCommand): Promise<SandboxOutcome> {
    const signal = AbortSignal.any([command.signal, closing.signal])
    signal.throwIfAborted()
    const engine = await ready(signal)
    if (command.network.kind === 'proxy' && !engine.kit?.relay) throw new SandboxUnavailable(noRelay)
    const world = await worldOf(engine, command, signal)
    const { client, kit, seccomp, life, folders } = engine
    const held = await Promise.all(command.mounts.map(({ source }) => folders.hold(source)))
    try {
      const mounts = command.mounts.map(({ target }, index) => ({ source: held[index]?.path ?? '', target }))
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
    if (!machine) throw new SandboxUnavailable('A command without an image of its own needs a base image here')
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
    return { ok: false, reason: `${kind} ${version} does not hold: ${details}`, proofs, fix }
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
    missingPrograms: async () => [],
    async close() {
      closing.abort(new Error('The sandbox is closing'))
      await Promise.allSettled(running)
      const engine = await preparing?.catch(() => undefined)
      if (engine) await rm(engine.copies, { recursive: true, force: true })
    },
  }
}

const noRelay = 'The network through the proxy needs ldd and Node on this machine, on the same C library as /bin/sh'
const limitsFix = 'Use an engine that runs as root, or a machine with version 2 of control groups'

/** What the run left on the disk, read before it is removed. */
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
  // What is answered instead of printed has the same limit.
  return result.isWhole ? complete : { ...complete, end: { kind: 'output_too_large', stream: 'stdout' } }
}
