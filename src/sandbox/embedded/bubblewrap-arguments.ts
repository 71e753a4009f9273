import { innerUser } from './stage/inner-etc.ts'
import { innerDevices, innerDirectories, innerLinks, type RootEntry } from './stage/inner-root.ts'
import type { PreparedCommand } from './world/world.ts'

/** The descriptors of a launcher, before bubblewrap has taken its own away. One digit each: dash knows no more. */
export const descriptors = { result: 3, filter: 4, request: 5, stdin: 8, status: 9 } as const

/**
 * What holds for every sandbox, on the command line. Bubblewrap reads the rest from a pipe: if this program dies in the
 * middle of that, what follows must still be a sandbox, and one that dies, too.
 */
export function fixedArguments(hasFilter: boolean): string[] {
  return [
    ...['--unshare-user', '--uid', String(innerUser.uid), '--gid', String(innerUser.gid)],
    ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup', '--hostname', innerUser.name],
    ...['--new-session', '--die-with-parent', '--as-pid-1', '--clearenv'],
    ...['--json-status-fd', String(descriptors.status)],
    ...(hasFilter ? ['--seccomp', String(descriptors.filter)] : []),
    ...['--args', String(descriptors.request)],
  ]
}

/** What depends on the call: the root, the network, the environment. Nobody else on the machine sees it. */
export function callArguments(options: {
  command: PreparedCommand
  root: readonly RootEntry[]
  /** Mounted in every sandbox, before what the command brings. */
  binds: readonly { source: string; target: string }[]
  environment: Readonly<Record<string, string>>
}): string[] {
  const { command, root, binds, environment } = options
  return [
    ...root.flatMap((entry) =>
      entry.kind === 'folder' ? ['--ro-bind', entry.path, entry.path] : ['--symlink', entry.target, entry.path],
    ),
    ...binds.flatMap(readOnly),
    ...(command.network.kind === 'host' ? hostNetwork : ['--unshare-net']),
    // Whoever is root of a namespace may write some of the kernel's settings; nobody can on a mount that is read-only.
    ...['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys'],
    ...innerDevices.flatMap((device) => ['--dev-bind', device, device]),
    ...innerDirectories.flatMap((path) => ['--dir', path]),
    ...Object.entries(innerLinks).flatMap(([path, target]) => ['--symlink', target, path]),
    ...(command.isWritable
      ? ['--size', String(command.limits.scratchBytes), '--perms', '1777', '--tmpfs', '/tmp']
      : []),
    ...command.binds.flatMap(readOnly),
    ...['--remount-ro', '/', '--chdir', command.workingDirectory],
    ...Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]),
  ]
}

function readOnly({ source, target }: { source: string; target: string }): string[] {
  return ['--ro-bind', source, target]
}

/** The names of the machine's own network. */
const hostNetwork = ['/etc/hosts', '/etc/resolv.conf'].flatMap((file) => ['--ro-bind-try', file, file])
