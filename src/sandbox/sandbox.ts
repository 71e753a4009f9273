import { constants } from 'node:os'
import { reasonOf } from '../base/text.ts'

/** The limits of a run, for all its processes together. */
export interface SandboxLimits {
  memoryBytes: number
  processes: number
  wallMs: number
  /** For standard output and standard error each. One byte more ends the run. */
  outputBytes: number
  /** Writable space, all places together. */
  scratchBytes: number
}

/** A folder or file of this machine, readable inside. */
export interface SandboxMount {
  source: string
  target: string
  /** The code may write there. Only for a folder from `makeFolder`, which is mounted itself; others are copied. */
  isWritable?: true
}

/** A folder of this machine that a driver can mount writable. It outlives the run; the caller removes it. */
export interface SandboxFolder {
  path: string
  /** The account that code in a sandbox has on this machine. Null: this process's own, or one that it cannot name. */
  owner: { uid: number; gid: number } | null
}

/**
 * `none` is an empty network. With `proxy` the only access is an HTTP proxy on a socket of this machine, which decides
 * by host name: inside it is found through `HTTP_PROXY` and `HTTPS_PROXY`. `host` is this machine's network, for
 * commands that the user has approved.
 */
type SandboxNetwork = { kind: 'none' } | { kind: 'proxy'; socketPath: string } | { kind: 'host' }

/** The image in which a container engine runs the command; a driver without an engine ignores it. */
export interface SandboxImage {
  /** Contains the Dockerfile. */
  directory: string
  /** Over all its content: another hash is another image. */
  hash: string
  name: string
}

export interface SandboxCommand {
  /** The program is a name on the inner PATH or an inner path. */
  argv: readonly [string, ...string[]]
  /** The complete environment except for variables of the driver (PATH, HOME, LANG, the proxy). */
  environment: Readonly<Record<string, string>>
  workingDirectory: string
  stdin: Uint8Array
  mounts: readonly SandboxMount[]
  /** Whether /tmp is writable, up to `scratchBytes`. Beside it only the mounts that say so are. */
  isWritable: boolean
  network: SandboxNetwork
  limits: SandboxLimits
  image?: SandboxImage
  signal: AbortSignal
}

export type SandboxEnd =
  | { kind: 'exited'; code: number }
  | { kind: 'killed'; signal: string }
  | { kind: 'timed_out' }
  | { kind: 'out_of_memory' }
  | { kind: 'output_too_large'; stream: 'stdout' | 'stderr' }

// Some have an older name as well, which comes later in the list.
const signalNames = new Map(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [number, name]),
)

/** A process ended by a signal is reported as 128 plus the signal's number, as in a shell. */
export function endOfCode(code: number): SandboxEnd {
  const name = signalNames.get(code - 128)
  return name === undefined ? { kind: 'exited', code } : { kind: 'killed', signal: name }
}

export interface SandboxOutcome {
  end: SandboxEnd
  stdout: Uint8Array
  stderr: Uint8Array
  /** The bytes written to descriptor 3: printed output cannot forge it. */
  result: Uint8Array
  durationMs: number
  /** Null if the driver does not know. */
  peakMemoryBytes: number | null
  driver: string
}

/** One claim of a driver, tested on this machine. */
export interface SandboxProof {
  /** `memory`, `processes`, `network`, `host files`, … */
  name: string
  ok: boolean
  detail: string
}

export type SandboxTest =
  | {
      ok: true
      proofs: readonly SandboxProof[]
      /** Missing features on this machine, and the command that would help. */
      lacks: readonly SandboxLack[]
      /** The program or engine that it uses, for display. */
      program?: string
    }
  | { ok: false; reason: string; proofs: readonly SandboxProof[]; fix: string | null }

interface SandboxLack {
  what: string
  fix: string | null
}

/** The machine lacks something that the command needs. This is reported, never worked around. */
export class SandboxUnavailable extends Error {
  readonly fix: string | null
  constructor(message: string, fix: string | null = null) {
    super(message)
    this.name = 'SandboxUnavailable'
    this.fix = fix
  }
}

/**
 * A way to run untrusted code.
 *
 * Every run has its own world: fresh namespaces, a read-only root, and no environment, socket, descriptor or file of
 * this machine except those that the command names. When `run` resolves, nothing of it is left: no process, mount,
 * cgroup or file, except in folders that it was given to write. Whatever the code does is an outcome; `run` throws only `SandboxUnavailable`, the signal's reason, or
 * an error of the driver, and in all three cases nothing keeps running.
 */
export interface SandboxDriver {
  readonly name: 'embedded' | 'container'
  /** Tests its limits on this machine. A driver whose test fails must not run anything. */
  test(signal: AbortSignal): Promise<SandboxTest>
  run(command: SandboxCommand): Promise<SandboxOutcome>
  /** An empty folder for a mount that is writable, or the one of that name from before. */
  makeFolder(name: string): Promise<SandboxFolder>
  /** The programs that a command does not find on its PATH; none if an image brings its own. */
  missingPrograms(names: readonly string[]): Promise<string[]>
  /** Ends all runs and prepared processes. */
  close(): Promise<void>
}

interface SandboxStatus {
  /** Null: code cannot run. */
  driver: SandboxDriver['name'] | null
  /** In the order in which they were tried. */
  tried: readonly { driver: SandboxDriver['name']; test: SandboxTest }[]
}

export type Sandbox = ReturnType<typeof createSandbox>

/**
 * Tests the drivers in order, once, and uses the first that passes on this machine. Fails closed: without one, nothing
 * runs. Drivers are created on first use.
 */
export function createSandbox(makeDrivers: () => Promise<readonly SandboxDriver[]>) {
  const ending = new AbortController()
  let made: readonly SandboxDriver[] = []
  let testing: Promise<{ driver: SandboxDriver | undefined; status: SandboxStatus }> | undefined

  function chosen() {
    testing ??= makeDrivers().then((drivers) => {
      made = drivers
      return choose(drivers, ending.signal)
    })
    return testing
  }

  async function driver(): Promise<SandboxDriver> {
    const { driver, status } = await chosen()
    if (driver) return driver
    const reasons = status.tried.map(({ driver, test }) => `${driver}: ${test.ok ? 'ready' : test.reason}`)
    const fix = status.tried.map(({ test }) => (test.ok ? null : test.fix)).find(Boolean) ?? null
    throw new SandboxUnavailable(
      `Code cannot run here: no sandbox passed its test (${reasons.join('; ') || 'none is configured'})`,
      fix,
    )
  }

  return {
    /** Throws `SandboxUnavailable` if no driver passed. */
    run: async (command: SandboxCommand) => (await driver()).run(command),
    makeFolder: async (name: string) => (await driver()).makeFolder(name),
    missingPrograms: async (names: readonly string[]) => (await driver()).missingPrograms(names),
    /** Waits for the tests, which start with the first use. */
    status: async (): Promise<SandboxStatus> => (await chosen()).status,
    async close(): Promise<void> {
      ending.abort(new Error('The sandbox is closing'))
      await testing?.catch(() => undefined)
      await Promise.all(made.map((each) => each.close()))
    },
  }
}

async function choose(drivers: readonly SandboxDriver[], signal: AbortSignal) {
  const tried: { driver: SandboxDriver['name']; test: SandboxTest }[] = []
  for (const driver of drivers) {
    const test = await driver.test(signal).catch((cause): SandboxTest => {
      return { ok: false, reason: reasonOf(cause), proofs: [], fix: null }
    })
    tried.push({ driver: driver.name, test })
    if (test.ok) return { driver, status: { driver: driver.name, tried } }
  }
  return { driver: undefined, status: { driver: null, tried } }
}
