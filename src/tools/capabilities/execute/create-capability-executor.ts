import type { Clock } from '../../../base/clock.ts'
import type { Logger } from '../../../base/logger.ts'
import { EgressError } from '../../../egress/egress-error.ts'
import type { SandboxProxy } from '../../../egress/sandbox-proxy.ts'
import { type Sandbox, type SandboxLimits, type SandboxOutcome, SandboxUnavailable } from '../../../sandbox/sandbox.ts'
import type { Redactor } from '../../../secrets/redactor.ts'
import type { Vault } from '../../../secrets/vault.ts'
import type { Database } from '../../../storage/database.ts'
import type { PythonPackages } from '../../packages/python-packages.ts'
import { checkAgainstSchema } from '../manifest/json-schema.ts'
import { createCapabilityStorage } from './capability-storage.ts'
import { cleanLog } from './clean-output.ts'
import { withDeclaredHosts } from './declared-network.ts'
import { type DeclaredSecrets, readDeclaredSecrets } from './declared-secrets.ts'
import type { CapabilityExecutor, Runnable } from './executor.ts'
import { failedRun, refusedRun, withoutValue } from './failed-run.ts'
import { type HarnessCommand, harnessCommand, shellCommand } from './harness-command.ts'
import { readResult, readShellEnd } from './read-result.ts'

const bounds = { processes: 64, outputBytes: 16 * 1024 ** 2, scratchBytes: 64 * 1024 ** 2 }
const tryLimits: SandboxLimits = { ...bounds, wallMs: 120_000, memoryBytes: 512 * 1024 ** 2 }
const noSecrets: DeclaredSecrets = { ok: true, values: {} }

export function createCapabilityExecutor(dependencies: {
  sandbox: Sandbox
  proxy: Pick<SandboxProxy, 'open'>
  packages: PythonPackages
  vault: Pick<Vault, 'get'>
  redactor: Pick<Redactor, 'redact'>
  database: Database
  clock: Clock
  logger: Logger
}): CapabilityExecutor {
  const { sandbox, proxy, packages, vault, redactor, logger } = dependencies
  const storage = createCapabilityStorage(dependencies)

  async function buildPackages(
    { manifest, requirements }: Pick<Runnable, 'manifest' | 'requirements'>,
    signal: AbortSignal,
  ): Promise<{ ok: true; directory: string | undefined } | { ok: false; problem: string }> {
    if (requirements.length === 0) return { ok: true, directory: undefined }
    if (manifest.runtime === 'node') {
      const problem = `${manifest.name} needs ${requirements.join(', ')} for Node, and packages are installed for Python alone.`
      return { ok: false, problem: `${problem} What it needs must be among its own files.` }
    }
    const directory = await packages.find(requirements)
    if (directory !== undefined) return { ok: true, directory }
    logger.info('packages of a capability are built', { capability: manifest.name, requirements })
    const build = await packages.build(requirements, signal)
    return build.ok ? build : { ok: false, problem: `${manifest.name} ${build.problem}` }
  }

  /** Refused: what it needs is not there. Nothing of it has run then. */
  async function start(
    { runnable, userId, signal }: { runnable: Runnable; userId: string; signal: AbortSignal },
    attempt: {
      limits: SandboxLimits
      /** What it is given, as JSON; absent, it gets nothing, and no secret either. */
      stdin?(secrets: Record<string, string>): object
      command(packages: string | undefined): HarnessCommand
    },
  ): Promise<{ refused: string } | { outcome: SandboxOutcome; refusedHosts: string[] }> {
    try {
      const built = await buildPackages(runnable, signal)
      if (!built.ok) return { refused: built.problem }
      const secrets = attempt.stdin ? await readDeclaredSecrets(runnable, { userId, vault }) : noSecrets
      if (!secrets.ok) return { refused: secrets.problem }
      const given = attempt.stdin?.(secrets.values)
      return await withDeclaredHosts(runnable, { proxy, signal }, (network) =>
        sandbox.run({
          ...attempt.command(built.directory),
          stdin: new TextEncoder().encode(given === undefined ? '' : JSON.stringify(given)),
          isWritable: true,
          network,
          limits: attempt.limits,
          signal,
        }),
      )
    } catch (cause) {
      if (cause instanceof EgressError) return { refused: cause.message }
      if (!(cause instanceof SandboxUnavailable)) throw cause
      return { refused: cause.fix ? `${cause.message}. To change that: ${cause.fix}` : cause.message }
    }
  }

  function logOf({ stdout, stderr }: SandboxOutcome): string {
    return cleanLog([stdout, stderr], redactor.redact)
  }

  return {
    async run({ userId, runnable, input, storage: place, signal }) {
      const { manifest } = runnable
      const problems = checkAgainstSchema(input, manifest.inputSchema)
      if (problems.length > 0) return refusedRun(`The input does not fit ${runnable.name}: ${problems.join('; ')}.`)
      const limits: SandboxLimits = { ...bounds, wallMs: manifest.timeoutMs, memoryBytes: manifest.memoryBytes }
      const kept = manifest.storage ? await storage.read(place) : null
      const started = await start(
        { runnable, userId, signal },
        {
          limits,
          stdin: (secrets) => ({ input, context: { secrets, storage: kept } }),
          command: (built) => harnessCommand(runnable, built),
        },
      )
      if ('refused' in started) return refusedRun(started.refused)
      const { outcome, refusedHosts } = started
      const run = { log: logOf(outcome), refusedHosts, durationMs: outcome.durationMs, driver: outcome.driver }
      const result = await readResult(outcome, { runnable, input, limits, redactor })
      if (!result.ok) return failedRun(run, result)
      const problem = await storage.write(place, result.changes)
      if (problem !== undefined) return failedRun(run, { error: problem, outcome: 'failed' })
      const { value, text, card } = result
      return { ...run, ok: true, value, text, card, error: null, outcome: 'succeeded' }
    },

    async prepare(runnable, signal) {
      try {
        const built = await buildPackages(runnable, signal)
        return built.ok ? { ok: true } : built
      } catch (cause) {
        if (!(cause instanceof SandboxUnavailable)) throw cause
        return { ok: false, problem: cause.message }
      }
    },

    async tryOut({ userId, runnable, command, signal }) {
      const isShell = command.kind === 'shell'
      const started = await start(
        { runnable, userId, signal },
        {
          limits: tryLimits,
          ...(!isShell && {
            stdin: (secrets) => ({
              code: command.code,
              context: { secrets, storage: runnable.manifest.storage ? [] : null },
            }),
          }),
          command: (built) =>
            isShell ? shellCommand(runnable, built, command.command) : harnessCommand(runnable, built),
        },
      )
      if ('refused' in started) return withoutValue(refusedRun(started.refused))
      const { outcome, refusedHosts } = started
      const log = logOf(outcome)
      const run = { log, refusedHosts, durationMs: outcome.durationMs, driver: outcome.driver }
      const result = isShell
        ? readShellEnd(outcome, tryLimits)
        : await readResult(outcome, { runnable, input: null, limits: tryLimits, redactor })
      const text = log.trim() === '' ? 'It printed nothing.' : log
      if (!result.ok) return { ...withoutValue(failedRun(run, result)), text }
      return { ...run, ok: true, text, error: null, outcome: 'succeeded' }
    },
  }
}
