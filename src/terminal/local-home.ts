import { systemClock } from '../base/clock.ts'
import { type ChildOutcome, createRunChild } from '../base/processes.ts'
import type { StoredKeys } from '../daemon/config/environment.ts'
import { type LoadedConfig, loadConfig } from '../daemon/config/load-config.ts'
import { acquireDaemonLock } from '../daemon/daemon-lock.ts'
import { openHome } from '../daemon/home.ts'
import type { HomePaths } from '../daemon/home-paths.ts'
import { type CommandContext, CommandError } from './command.ts'
import { startFailure } from './connect.ts'

export type ProcessEnvironment = Readonly<Record<string, string | undefined>>

type Home = Pick<CommandContext, 'homePath' | 'env'>

/** The folders of the home, created if they are missing. */
export async function requireHome({ homePath }: Pick<CommandContext, 'homePath'>): Promise<HomePaths> {
  const home = await openHome(homePath)
  if (!home.ok) throw new CommandError(home.message, { hint: home.hint })
  return home.paths
}

/** The configuration of the home; its problems are thrown. `stored`: the keys from the vault. */
export function requireConfig(
  { homePath: home, env }: Home,
  stored: StoredKeys = {},
): Extract<LoadedConfig, { ok: true }> {
  const loaded = loadConfig({ home, env, stored })
  if (!loaded.ok) throw startFailure({ ok: false, reason: 'config', problems: loaded.problems }, home)
  return loaded
}

/** Keeps daemons from the home until the end of the block. Refuses if one runs. */
export async function lockHome(
  homePath: string,
  hintFor: (pid: number | null) => string = () => 'Stop it first: familiar stop',
): Promise<AsyncDisposable> {
  const lock = await acquireDaemonLock(homePath)
  if (lock.ok) return { [Symbol.asyncDispose]: () => lock.release() }
  const { pid } = lock
  throw new CommandError(`Familiar is running on ${homePath}${pid === null ? '' : ` (process ${pid})`}.`, {
    code: 'locked',
    hint: hintFor(pid),
  })
}

export function definedVariables(env: ProcessEnvironment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}

const ordinaryMs = 60_000

/** Runs a program to its end. `text` is its standard output, also if it failed. */
export async function runProgram(run: {
  argv: readonly [string, ...string[]]
  workingDirectory: string
  environment: Readonly<Record<string, string>>
  signal: AbortSignal
  wallMs?: number
}): Promise<{ isFine: boolean; text: string; outcome: ChildOutcome }> {
  const { wallMs = ordinaryMs, ...command } = run
  const runChild = createRunChild({ clock: systemClock() })
  const limits = { wallMs, outputBytes: 10_000_000 }
  const outcome = await runChild({ ...command, stdin: new Uint8Array(), limits })
  const isFine = outcome.end.kind === 'exited' && outcome.end.code === 0
  return { isFine, text: Buffer.from(outcome.stdout).toString(), outcome }
}
