import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../../src/terminal/main.ts', import.meta.url))

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export interface RunningCommand {
  child: ChildProcessWithoutNullStreams
  stdout(): string
  /** Resolves once the output matches the pattern; rejects when the process ends without a match. */
  untilShows(pattern: RegExp): Promise<RegExpExecArray>
  ended: Promise<Ended>
}

export interface CommandOptions {
  home: string
  input?: string
  env?: Record<string, string>
  workingDirectory?: string
  /** How many files it may have open. */
  openFiles?: number
}

/** The output with its commands as the default home has them: the program by its name, and without `--home`. */
export async function asInDefaultHome(command: Promise<Ended>): Promise<Ended> {
  const plain = (text: string) =>
    text.replaceAll(/[^\s`]*\/bin\/familiar (.+?) --home \S+?(?=[)`]?(?:\s|$))/g, 'familiar $1')
  const { code, stdout, stderr } = await command
  return { code, stdout: plain(stdout), stderr: plain(stderr) }
}

const running = new Set<RunningCommand>()
const directories = new Set<string>()

/** For `afterEach`: ends what a test left running and takes its directories away. */
export async function cleanUp(): Promise<void> {
  for (const { child } of running) child.kill('SIGKILL')
  await Promise.all([...running].map(({ ended }) => ended))
  running.clear()
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
  directories.clear()
}

export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'familiar-cli-'))
  directories.add(directory)
  return directory
}

/** A place for a home; nothing is there yet. */
export function newHome(): string {
  return join(temporaryDirectory(), 'home')
}

/** A home whose model is the server at `url`, in the chat completions format. */
export function homeWithModel(url: string): { home: string; env: Record<string, string> } {
  const home = newHome()
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

/** Runs one command to its end. */
export function familiar(args: string[], options: CommandOptions): Promise<Ended> {
  return startFamiliar(args, { input: '', ...options }).ended
}

/** The value that a command prints with `--json`. */
export async function familiarJson(args: string[], options: CommandOptions): Promise<unknown> {
  const { stdout } = await familiar([...args, '--json'], options)
  return JSON.parse(stdout)
}

/** A daemon on the home, ready to answer. */
export async function serveFamiliar(
  options: CommandOptions & { args?: string[] },
): Promise<RunningCommand & { url: string }> {
  const daemon = startFamiliar(['serve', ...(options.args ?? [])], options)
  const [, url = ''] = await daemon.untilShows(/is running at (\S+)\n[\s\S]*Ctrl-C stops it/)
  return { ...daemon, url }
}

/** util-linux's `script`, which gives a command a terminal. */
const terminalProgram = '/usr/bin/script'
export const canOpenTerminal = process.platform === 'linux' && existsSync(terminalProgram)

/** Starts one command as if typed at a terminal; what is typed then goes to its standard input. */
export function startAtTerminal(args: string[], options: CommandOptions): RunningCommand {
  const command = [process.execPath, main, ...args].map((word) => `'${word}'`).join(' ')
  return start([terminalProgram, '--quiet', '--flush', '--return', '--command', command, '/dev/null'], options)
}

/** Starts one command. Without `input` its standard input stays open. */
export function startFamiliar(args: string[], options: CommandOptions): RunningCommand {
  const argv = [process.execPath, main, ...args]
  if (options.openFiles === undefined) return start(argv, options)
  return start(['/bin/sh', '-c', `ulimit -n ${options.openFiles}; exec "$@"`, 'sh', ...argv], options)
}

function start([file = '', ...args]: string[], options: CommandOptions): RunningCommand {
  const child = spawn(file, args, { env: scrubbedEnvironment(options), stdio: 'pipe', cwd: options.workingDirectory })
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
    running.delete(command)
    changed()
    return { code: code as number | null, stdout, stderr }
  })
  const command: RunningCommand = {
    child,
    stdout: () => stdout,
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
  running.add(command)
  return command
}

/** No key, no color, no home of the user, and no model server that happens to run on this machine. */
function scrubbedEnvironment({ home, env }: CommandOptions): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    HOME: home,
    TZ: 'UTC',
    NODE_COMPILE_CACHE: join(tmpdir(), 'familiar-test-compile-cache'),
    FAMILIAR_HOME: home,
    FAMILIAR_MODEL: 'offline/offline',
    FAMILIAR_EMBEDDING: 'off',
    FAMILIAR_SANDBOX: 'off',
    FAMILIAR_PORT: '0',
    ...env,
  }
}
