import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface RunningCommand {
  child: ChildProcessWithoutNullStreams
  stdout(): string
  stderr(): string
  /** Resolves once the pattern stands in what was written so far; rejects when the process ends without. */
  untilShows(pattern: RegExp): Promise<RegExpExecArray>
  ended: Promise<Ended>
}

export interface CommandOptions {
  home: string
  input?: string
  env?: Record<string, string>
}

/** A directory that goes away with the test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'familiar-cli-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** Runs one command to its end. */
export function familiar(args: string[], options: CommandOptions): Promise<Ended> {
  return startFamiliar(args, options).ended
}

/** Starts one command; it is killed at the end of the test where it still runs. Without `input` its stdin stays open. */
export function startFamiliar(args: string[], options: CommandOptions): RunningCommand {
  const child = spawn(process.execPath, [main, ...args], { env: scrubbedEnvironment(options), stdio: 'pipe' })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  let isOver = false
  const listeners = new Set<() => void>()
  const changed = () => {
    for (const listener of listeners) listener()
  }
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk
    changed()
  })
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk
    changed()
  })
  // A command that ends without reading its input closes the pipe under us.
  child.stdin.on('error', () => undefined)
  if (options.input !== undefined) child.stdin.end(options.input)
  const ended = once(child, 'close').then(([code]) => {
    isOver = true
    changed()
    return { code: code as number | null, stdout, stderr }
  })
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    untilShows(pattern) {
      return new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(stdout + stderr)
          if (found) resolve(found)
          else if (isOver) reject(new Error(`It ended without showing ${pattern}:\n${stdout}\n${stderr}`))
          else return
          listeners.delete(look)
        }
        listeners.add(look)
        look()
      })
    },
    ended,
  }
}

/** No key, no colour, no home of the user, and no model server that happens to run on this machine. */
function scrubbedEnvironment({ home, env }: CommandOptions): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    HOME: home,
    TZ: 'UTC',
    FAMILIAR_HOME: home,
    FAMILIAR_MODEL: 'offline/offline',
    FAMILIAR_PORT: '0',
    ...env,
  }
}

/** A home whose model is the server at `url`, in the chat completions format. */
export function homeWithModel(url: string): { home: string; env: Record<string, string> } {
  const home = join(temporaryDirectory(), 'home')
  mkdirSync(join(home, 'providers.d'), { recursive: true, mode: 0o700 })
  const provider = [
    'type = "openai-compatible"',
    `base_url = "${url}/v1"`,
    'api_key_env = "FAKE_KEY"',
    '[models.main]',
    'model = "fake-model"',
    'cost_per_mtok = [3.0, 15.0, 0.3, 3.75]',
  ]
  writeFileSync(join(home, 'providers.d', 'fake.toml'), provider.join('\n'), { mode: 0o600 })
  return { home, env: { FAMILIAR_MODEL: 'fake/main', FAKE_KEY: 'key-of-the-test' } }
}

export function newHome(): string {
  return join(temporaryDirectory(), 'home')
}
