import type { SandboxLimits } from '../sandbox.ts'

/** What a process may use where no cgroup counts them together. */
export interface LoweredLimits {
  processes: number
  /** Of what each process can write: its own memory. */
  dataBytes: number
  /** Of everything a process has mapped; null for Node, which reserves far more than it uses. */
  spaceBytes: number | null
}

/** Each of them can take the whole memory, so there are only a few. */
const fewProcesses = 8
/** Node has a dozen threads, and they count. */
const processesOfNode = 20
/** Libraries and files that are mapped and not used up; in Node also the room for compiled code. */
const mappedBytes = 512 * 1024 * 1024

export function loweredLimits(limits: SandboxLimits, program: string): LoweredLimits {
  const isNode = program === 'node' || program.endsWith('/node')
  return {
    processes: Math.min(limits.processes, isNode ? processesOfNode : fewProcesses),
    dataBytes: limits.memoryBytes + (isNode ? mappedBytes : 0),
    spaceBytes: isNode ? null : limits.memoryBytes + mappedBytes,
  }
}
