import { chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxAccount } from '../sandbox-account.ts'
import type { Cgroup, CgroupParent } from './cgroup.ts'
import { addMember, killMembers, readEntry, readNumber, removeGroups, tryWrite, write } from './cgroup-files.ts'

/** The first version has a tree for each resource; a call is in both. Throws where either cannot be written. */
export function openCgroupV1(options: {
  memoryTree: string
  processTree: string
  name: string
  account: SandboxAccount
}): CgroupParent {
  const { name, account } = options
  const memoryParent = join(options.memoryTree, name)
  const processParent = join(options.processTree, name)
  mkdirSync(memoryParent)
  mkdirSync(processParent)

  function make(child: string): Cgroup {
    const memory = join(memoryParent, child)
    const processes = join(processParent, child)
    const joinFiles = [memory, processes].map((directory) => join(directory, 'cgroup.procs'))
    mkdirSync(memory)
    mkdirSync(processes)
    if (account.isOther) for (const file of joinFiles) chownSync(file, account.uid, account.gid)
    const kill = () => killMembers(processes)
    return {
      joinFiles,
      add: (pid) => addMember(joinFiles, pid),
      limit(limits) {
        write(memory, 'memory.limit_in_bytes', limits.memoryBytes)
        // Where swap is not counted, none is used.
        if (!tryWrite(memory, 'memory.memsw.limit_in_bytes', limits.memoryBytes)) {
          tryWrite(memory, 'memory.swappiness', 0)
        }
        write(processes, 'pids.max', limits.processes)
      },
      memoryKills: () => readEntry(memory, 'memory.oom_control', 'oom_kill') ?? 0,
      peakMemoryBytes: () => readNumber(memory, 'memory.max_usage_in_bytes'),
      kill,
      remove: () => removeGroups([memory, processes], kill),
    }
  }

  return {
    version: 1,
    make,
    remove: () => removeGroups([memoryParent, processParent], () => undefined),
  }
}
