import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { callArguments, descriptors, fixedArguments } from '../bubblewrap-arguments.ts'
import type { Cgroup } from '../cgroup/cgroup.ts'
import { entryEnvironment, entryOverhead, entryProgram, quoted } from '../inner-entry.ts'
import { markName } from '../janitor.ts'
import type { SandboxAccount } from '../sandbox-account.ts'
import type { RootEntry } from '../stage/inner-root.ts'
import { setReferenced } from './child-reference.ts'
import { readLauncherStatus } from './launcher-status.ts'
import { strayDescriptors } from './stray-descriptors.ts'
import { openStreams } from './streams.ts'
import type { World, WorldEnd } from './world.ts'

export interface LauncherOptions {
  bubblewrap: string
  account: SandboxAccount
  root: readonly RootEntry[]
  /** Mounted in every sandbox. */
  binds: readonly { source: string; target: string }[]
  firstShell: string
  /** Undefined: without one, for tests only. */
  filter: string | undefined
  /** Marks its processes, so that a later driver knows them. */
  mark: string
}

/** How long a sandbox may take to end with its first process before everything in its cgroup is killed. */
const graceMs = 1_000

/**
 * Bubblewrap that has dropped to the sandbox's account and joined its cgroup, and waits to be told what to make. Resolves
 * when it is ready; throws where it cannot be, and then the cgroup is gone, too.
 */
export async function startLauncher(options: LauncherOptions & { cgroup: Cgroup | undefined }): Promise<World> {
  const { cgroup } = options
  const strays = strayDescriptors()
  const child = spawnShell({ ...options, shell: shellFor(strays) })
  const script = pipeOf(child, 0)
  const status = readLauncherStatus(pipeOf(child, descriptors.status))
  const ended = new Promise<WorldEnd>((resolve) => {
    child.once('error', (error) => resolve({ kind: 'broken', reason: error.message }))
    child.once('close', () => resolve(status.end()))
  })
  script.on('error', () => undefined)
  script.write(preparation(cgroup?.joinFiles.length ?? 0, strays))

  function kill(): void {
    // The number of a process that is gone may be another one's by now.
    if (child.exitCode !== null || child.signalCode !== null) return
    const first = status.firstProcess()
    // With the first process of its namespace all others end, and bubblewrap sees them off.
    if (first !== undefined) tryKill(first)
    else if (cgroup) cgroup.kill()
    else if (child.pid !== undefined) tryKill(child.pid)
    setTimeout(() => cgroup?.kill(), graceMs).unref()
  }

  async function untilGone(): Promise<void> {
    setReferenced(child, true)
    kill()
    await ended
    await cgroup?.remove()
  }

  try {
    const hasBegun = await Promise.race([status.ready.then(() => true), ended.then(() => false)])
    if (!hasBegun || child.pid === undefined) throw new Error('The shell that starts bubblewrap did not come up')
    const { request, stdin, result } = descriptors
    const streams = openStreams(child.pid, { stdin, request, stdout: 1, stderr: 2, result })
    const program = [options.bubblewrap, ...fixedArguments(options.filter !== undefined), '--']
    const words = [...program, ...entryProgram(options.firstShell)].map(quoted).join(' ')
    script.end(`exec ${words} <&${stdin} ${stdin}<&-\n`)
    setReferenced(child, false)
    return {
      streams,
      cgroup,
      overhead: entryOverhead,
      ended,
      start(command) {
        setReferenced(child, true)
        const lines = callArguments({ ...options, command, environment: entryEnvironment(command) })
        streams.write('request', Buffer.from(lines.map((line) => `${line}\0`).join('')))
      },
      kill,
      async dispose() {
        await untilGone()
        streams.close()
      },
    }
  } catch (cause) {
    await untilGone()
    throw cause
  }
}

function spawnShell(options: LauncherOptions & { cgroup: Cgroup | undefined; shell: string }): ChildProcess {
  const { account } = options
  const filter = options.filter === undefined ? 'ignore' : openSync(options.filter, 'r')
  // Opened by this program: its rights count for what is written there, not those of the shell.
  const groups = (options.cgroup?.joinFiles ?? []).map((file) => openSync(file, 'w'))
  const [firstGroup = 'ignore', secondGroup = 'ignore'] = groups
  try {
    return spawn(options.shell, [], {
      ...(account.isOther ? { uid: account.uid, gid: account.gid } : {}),
      cwd: '/',
      env: { PATH: '/usr/bin:/bin', [markName]: options.mark },
      // A session of its own: a Ctrl-C in the terminal of this program is not for the code.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore', 'ignore', filter, 'ignore', firstGroup, secondGroup, 'ignore', 'pipe'],
    })
  } finally {
    for (const descriptor of [filter, ...groups]) if (typeof descriptor === 'number') closeSync(descriptor)
  }
}

/** Dash takes the number of a descriptor from one digit only. Bash is slower to start, and needed for nothing else. */
function shellFor(strays: readonly number[]): string {
  return strays.some((number) => number > 9) ? '/bin/bash' : '/bin/sh'
}

/** Joins the cgroup and makes the pipes: a document in the script is a pipe with that document in it. */
function preparation(groups: number, strays: readonly number[]): string {
  const { request, stdin, status } = descriptors
  const pipe = (number: number) => `exec ${number}<<.\n\n.`
  return [
    ...strays.map((number) => `exec ${number}>&-`),
    ...['umask 022', 'ulimit -c 0', 'ulimit -n 1024'],
    ...Array.from({ length: groups }, (_, index) => `echo 0 >&${6 + index} || exit 1`),
    'exec 6>&- 7>&-',
    ...[1, 2, 3].flatMap((number) => [pipe(stdin), `exec ${number}>/proc/self/fd/${stdin}`]),
    ...[pipe(stdin), pipe(request)],
    // In a process of its own: a shell puts its own output aside for a moment to say something elsewhere.
    `(echo '{"ready":true}' >&${status})\n`,
  ].join('\n')
}

function pipeOf(child: ChildProcess, number: number): Duplex {
  return child.stdio[number as 0] as unknown as Duplex
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}
