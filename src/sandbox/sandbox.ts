/** What code may use up, all its processes together. */
export interface SandboxLimits {
  memoryBytes: number
  processes: number
  wallMs: number
  /** Of standard output and standard error each. One byte more ends the run. */
  outputBytes: number
  /** What can be written, all places together. */
  scratchBytes: number
}

/** A folder or file of this machine, readable inside and never writable. */
export interface SandboxMount {
  source: string
  target: string
}

/**
 * `none` is an empty network. With `proxy` the only way out is an HTTP proxy on a socket of this machine, which decides
 * by name: inside it is found through `HTTP_PROXY` and `HTTPS_PROXY`. `host` is this machine's own network, for what
 * the user has approved.
 */
export type SandboxNetwork = { kind: 'none' } | { kind: 'proxy'; socketPath: string } | { kind: 'host' }

/** The image that a container engine runs the command in; a driver without an engine passes over it. */
export interface SandboxImage {
  /** Holds the Dockerfile. */
  directory: string
  /** Of everything in it: another hash is another image. */
  hash: string
  name: string
}

export interface SandboxCommand {
  /** The program is a name on the inner PATH or an inner path. */
  argv: readonly [string, ...string[]]
  /** The whole environment but for what the driver sets itself (PATH, HOME, LANG, the proxy). */
  environment: Readonly<Record<string, string>>
  workingDirectory: string
  stdin: Uint8Array
  mounts: readonly SandboxMount[]
  /** Whether /tmp can be written, up to `scratchBytes`. Nothing else ever can. */
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

export interface SandboxOutcome {
  end: SandboxEnd
  stdout: Uint8Array
  stderr: Uint8Array
  /** What was written to descriptor 3: printing cannot forge it. */
  result: Uint8Array
  durationMs: number
  /** Null where the driver cannot tell. */
  peakMemoryBytes: number | null
  driver: string
}

/** One thing that a driver claims, tried out on this machine. */
export interface SandboxProof {
  /** `memory`, `processes`, `network`, `host files`, … */
  name: string
  ok: boolean
  detail: string
}

/** Why a driver is used or not. */
export type SandboxTest =
  | {
      ok: true
      proofs: readonly SandboxProof[] /** What it cannot do here, and the one command that would help. */
      lacks: readonly SandboxLack[]
    }
  | { ok: false; reason: string; proofs: readonly SandboxProof[]; fix: string | null }

export interface SandboxLack {
  what: string
  fix: string | null
}

/** What the command needs of the driver and the machine does not have: said, never worked around. */
export class SandboxUnavailable extends Error {
  readonly fix: string | null
  constructor(message: string, fix: string | null = null) {
    super(message)
    this.name = 'SandboxUnavailable'
    this.fix = fix
  }
}

/**
 * A way to run code that is not trusted.
 *
 * Every run has a world of its own: fresh namespaces, a read-only root, no environment, socket, descriptor or file of
 * this machine but what the command names. When `run` resolves, nothing of it is left: no process, mount, cgroup or
 * file. Whatever the code does is an outcome; `run` throws only `SandboxUnavailable`, the signal's reason, or a fault of
 * the driver, and in all three cases nothing keeps running.
 */
export interface SandboxDriver {
  readonly name: 'embedded' | 'container'
  /** Tries its own limits on this machine. A driver whose test fails must not be asked to run. */
  test(signal: AbortSignal): Promise<SandboxTest>
  run(command: SandboxCommand): Promise<SandboxOutcome>
  /** The programs of this machine that a command finds on its PATH, of those asked for; all of them where an image brings its own. */
  missingPrograms(names: readonly string[]): Promise<string[]>
  /** Ends every run that is under way and what is kept warm. */
  close(): Promise<void>
}

export interface SandboxStatus {
  /** Null: code does not run. */
  driver: SandboxDriver['name'] | null
  /** In the order in which they were tried. */
  tried: readonly { driver: SandboxDriver['name']; test: SandboxTest }[]
}

/** The driver that passed its test first. No driver, no run. */
export interface Sandbox {
  /** Throws `SandboxUnavailable` where no driver passed. */
  run(command: SandboxCommand): Promise<SandboxOutcome>
  missingPrograms(names: readonly string[]): Promise<string[]>
  /** Waits for the tests, which begin when this is first asked for. */
  status(): Promise<SandboxStatus>
  close(): Promise<void>
}
