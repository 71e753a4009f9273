import type { SandboxCommand } from '../../sandbox.ts'
import type { Cgroup, CgroupLimits } from '../cgroup/cgroup.ts'
import type { LoweredLimits } from '../lowered-limits.ts'
import type { Streams } from './streams.ts'

/** A command with everything decided: what is mounted lies where the sandbox's account can read it. */
export interface PreparedCommand extends SandboxCommand {
  /** In the order of mounting. */
  binds: readonly { source: string; target: string }[]
  /** Set where the network is a proxy: the loopback port on which it is offered, and the socket that it leads to. */
  relay: { port: number; path: string } | null
  /** Set where there is no cgroup. */
  lowered: LoweredLimits | null
}

export type WorldEnd =
  | { kind: 'exited'; code: number }
  /** It never ran the command. */
  | { kind: 'broken'; reason: string }

/**
 * A sandbox for one command. It is made before the command is known, as far as that is possible, since joining a cgroup
 * alone costs ten milliseconds; it is used once and thrown away.
 */
export interface World {
  readonly streams: Streams
  readonly cgroup: Cgroup | undefined
  /** What the sandbox itself takes, for which the limits leave room. */
  overhead(command: PreparedCommand): CgroupLimits
  start(command: PreparedCommand): void
  /** Resolves when no process of it is left. Never rejects. */
  readonly ended: Promise<WorldEnd>
  /** Ends it at once, whatever it does; may be called at any time. */
  kill(): void
  /** Kills what is left and gives back what it holds: cgroup, pipes, descriptors. */
  dispose(): Promise<void>
}
