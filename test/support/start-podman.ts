import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** A container engine of the test's own: its storage, its socket, nothing of the machine's. */
export interface RunningPodman {
  socketPath: string
  /** Of containers in any state. */
  containers(): string[]
  podman(...args: string[]): string
  stop(): Promise<void>
}

/** Why there is none here, or undefined. Part of the name of skipped tests. */
export function whyNoPodman(): string | undefined {
  if (process.getuid?.() !== 0) return 'podman needs root here'
  const missing = ['podman', 'runc', 'conmon'].filter((program) => !isOnPath(program))
  return missing.length > 0 ? `${missing.join(' and ')} not installed` : undefined
}

export async function startPodman(): Promise<RunningPodman> {
  const directory = mkdtempSync(join(tmpdir(), 'familiar-podman-'))
  const socketPath = join(directory, 'podman.sock')
  const place = [
    '--root',
    join(directory, 'root'),
    '--runroot',
    join(directory, 'run'),
    '--tmpdir',
    join(directory, 'tmp'),
  ]
  const flags = [...place, '--runtime', 'runc', '--cgroup-manager', 'cgroupfs', '--events-backend', 'none']
  // Its locks would otherwise lie in memory that all engines of the machine share.
  const settings = join(directory, 'containers.conf')
  writeFileSync(settings, '[engine]\nlock_type = "file"\n')
  const env = { ...process.env, CONTAINERS_CONF: settings }
  // It ends by itself when idle, in case this process does not end it.
  const service = spawn('podman', [...flags, 'system', 'service', '--time', '60', `unix://${socketPath}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
    // It leaves a note there when a container has used up its memory.
    cwd: directory,
    env,
  })
  let said = ''
  service.stderr.on('data', (bytes) => {
    said += bytes
  })
  while (!existsSync(socketPath)) {
    if (service.exitCode !== null) throw new Error(`podman did not start: ${said}`)
    await pause(20)
  }
  const podman = (...args: string[]) => execFileSync('podman', [...flags, ...args], { encoding: 'utf8', env })
  return {
    socketPath,
    podman,
    containers: () => podman('ps', '--all', '--quiet', '--no-trunc').split('\n').filter(Boolean),
    async stop() {
      // A test that failed may have left some.
      podman('rm', '--all', '--force', '--time', '0')
      if (service.exitCode === null) {
        service.kill()
        await once(service, 'exit')
      }
      await removeStorage(directory)
    },
  }
}

/** Podman keeps its storage mounted onto itself, and what cleans up after a container may just be mounting it again. */
async function removeStorage(directory: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    try {
      for (const path of mountsBelow(directory)) execFileSync('umount', ['--lazy', path], { stdio: 'pipe' })
      return rmSync(directory, { recursive: true, force: true })
    } catch (cause) {
      if (tries === 50) throw cause
      await pause(100)
    }
  }
}

function isOnPath(program: string): boolean {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin']
  return folders.some((folder) => existsSync(join(folder, program)))
}

function mountsBelow(directory: string): string[] {
  const paths = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
  return paths.filter((path) => path.startsWith(`${directory}/`)).toReversed()
}
