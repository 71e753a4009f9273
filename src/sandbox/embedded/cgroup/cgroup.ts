export interface CgroupLimits {
  memoryBytes: number
  processes: number
}

/** Where cgroups of this driver are made. Everything here is synchronous: the kernel answers from memory. */
export interface CgroupParent {
  readonly version: 1 | 2
  /** Processes of the sandbox may join what is made here, so it belongs to this account. */
  make(name: string): Cgroup
  /** Removes what `make` has made, ending its processes, and itself. */
  remove(): Promise<void>
}

/** The processes of one call, counted and limited together. A process joins by writing `0` into each of `joinFiles`. */
export interface Cgroup {
  readonly joinFiles: readonly string[]
  /** Puts a process of this program's into it. */
  add(pid: number): Promise<void>
  limit(limits: CgroupLimits): void
  /** How often the kernel has ended a process for want of memory. */
  memoryKills(): number
  /** Null where this kernel does not tell. */
  peakMemoryBytes(): number | null
  kill(): void
  /** Ends what is left in it and resolves when it is gone. */
  remove(): Promise<void>
}
