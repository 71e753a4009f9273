import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { accessSync, constants } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { SandboxCommand, SandboxDriver, SandboxEnd, SandboxOutcome } from '../../src/sandbox/sandbox.ts'

const path = ['/usr/local/bin', '/usr/bin', '/bin'].join(delimiter)

/** Runs commands on this machine without a sandbox, for tests of the code around one. */
export function createUnsandboxedDriver(
  options: { lacks?: readonly string[] } = {},
): SandboxDriver & { runs: SandboxCommand[] } {
  const runs: SandboxCommand[] = []
  const place = join(tmpdir(), `familiar-unsandboxed-${randomUUID()}`)
  return {
    name: 'embedded',
    runs,
    test: async () => ({ ok: true, proofs: [], lacks: [] }),
    run(command) {
      runs.push(command)
      return run(command)
    },
    async makeFolder(name) {
      const folder = join(place, name)
      await mkdir(folder, { recursive: true })
      return { path: folder, owner: null }
    },
    missingPrograms: async (names) => names.filter((name) => options.lacks?.includes(name) || !isOnPath(name)),
    close: () => rm(place, { recursive: true, force: true }),
  }
}

function isOnPath(name: string): boolean {
  return path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

function run(command: SandboxCommand): Promise<SandboxOutcome> {
  const startedAt = performance.now()
  const [program, ...given] = command.argv
  const inner = (word: string) => outside(command, word)
  const environment = Object.entries(command.environment).map(([key, value]) => [
    key,
    value.split(':').map(inner).join(':'),
  ])
  return new Promise((resolve, reject) => {
    const child = spawn(inner(program), given.map(inner), {
      cwd: inner(command.workingDirectory),
      env: { PATH: path, LANG: 'C.UTF-8', HOME: '/tmp', ...Object.fromEntries(environment) },
      detached: true,
    })
    const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
    let end: SandboxEnd | undefined
    const stop = (why: SandboxEnd | undefined) => {
      end ??= why
      const isOver = child.exitCode !== null || child.signalCode !== null
      if (child.pid !== undefined && !isOver) process.kill(-child.pid, 'SIGKILL')
    }
    const timer = setTimeout(() => stop({ kind: 'timed_out' }), command.limits.wallMs)
    command.signal.addEventListener('abort', () => stop(undefined), { once: true })
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].on('data', (part: Buffer) => {
        output[stream].push(part)
        if (Buffer.concat(output[stream]).length > command.limits.outputBytes)
          stop({ kind: 'output_too_large', stream })
      })
    }
    child.stdin.on('error', () => {})
    child.stdin.end(command.stdin)
    child.on('error', reject)
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      if (command.signal.aborted) return reject(command.signal.reason)
      resolve({
        end: end ?? (signal ? { kind: 'killed', signal } : { kind: 'exited', code: code ?? 0 }),
        stdout: Buffer.concat(output.stdout),
        stderr: Buffer.concat(output.stderr),
        result: new Uint8Array(),
        durationMs: performance.now() - startedAt,
        peakMemoryBytes: null,
        driver: 'embedded',
      })
    })
  })
}

/** The path on this machine of an inner path. */
function outside({ mounts }: SandboxCommand, word: string): string {
  const mount = mounts.find(({ target }) => word === target || word.startsWith(`${target}/`))
  return mount ? join(mount.source, word.slice(mount.target.length)) : word
}
