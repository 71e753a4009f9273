import { chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { SandboxAccount } from '../sandbox-account.ts'
import type { Cgroup, CgroupParent } from './cgroup.ts'
import { addMember, killMembers, readEntry, readNumber, removeGroups, tryWrite, write } from './cgroup-files.ts'

/** The second version has one tree. `tree` hands the memory and process controllers down. Throws where it does not. */
export function openCgroupV2(options: { tree: string; name: string; account: SandboxAccount }): CgroupParent {
  const { tree, name, account } = options
  const parent = join(tree, name)
  mkdirSync(parent)
  write(parent, 'cgroup.subtree_control', '+memory +pids')
  // Whoever moves a process needs the right to do so in what holds both ends.
  if (account.isOther) chownSync(join(parent, 'cgroup.procs'), account.uid, account.gid)

  function make(child: string): Cgroup {
    const group = join(parent, child)
    const joinFile = join(group, 'cgroup.procs')
    mkdirSync(group)
    if (account.isOther) chownSync(joinFile, account.uid, account.gid)
    const kill = () => {
      if (!tryWrite(group, 'cgroup.kill', 1)) killMembers(group)
    }
    return {
      joinFiles: [joinFile],
      add: (pid) => addMember([joinFile], pid),
      limit(limits) {
        write(group, 'memory.max', limits.memoryBytes)
        tryWrite(group, 'memory.swap.max', 0)
        // One that is out of memory takes the others with it: half a program helps nobody.
        tryWrite(group, 'memory.oom.group', 1)
        write(group, 'pids.max', limits.processes)
      },
      memoryKills: () => readEntry(group, 'memory.events', 'oom_kill') ?? 0,
      peakMemoryBytes: () => readNumber(group, 'memory.peak'),
      kill,
      remove: () => removeGroups([group], kill),
    }
  }

  return { version: 2, make, remove: () => removeGroups([parent], () => undefined) }
}
