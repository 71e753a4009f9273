import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { LoadedTool } from './load-tool.ts'
import type { Readiness, ReadyCommand } from './run/prepare-command.ts'

/** How far a tool is from running. */
type ToolStage =
  | { kind: 'checking' }
  | { kind: 'building' }
  | { kind: 'lacking'; problem: string }
  | { kind: 'ready'; command: ReadyCommand }

/** One tool on its way to running, begun anew whenever it is asked for and something was missing. */
export interface StagedTool {
  stage(): ToolStage
  /** When it is known what is missing or that it must be built. Where something was missing, it is looked for again. */
  checked(): Promise<void>
  /** When nothing is under way any more. Begins nothing. */
  settled(): Promise<void>
}

/** What was missing is not looked for again within this; what could not be built not tried again. */
const freshMs = 2_000
const buildFreshMs = 300_000

export function createStagedTool(dependencies: {
  tool: LoadedTool
  prepare(tool: LoadedTool): Promise<Readiness>
  onChange(): void
  clock: Clock
  logger: Logger
  /** Ends a build. */
  signal: AbortSignal
}): StagedTool {
  const { tool, prepare, onChange, clock, logger, signal } = dependencies
  let stage: ToolStage = { kind: 'checking' }
  let checkAgainAt = 0
  let checking: Promise<void> | undefined
  let building: Promise<void> | undefined

  function move(next: ToolStage): void {
    stage = next
    onChange()
  }

  async function check(): Promise<void> {
    const readiness = await prepare(tool)
    if (readiness.kind !== 'unbuilt') return move(readiness)
    move({ kind: 'building' })
    building = readiness
      .build(signal)
      .then((built) => move(built.kind === 'unbuilt' ? { kind: 'lacking', problem: 'it could not be built' } : built))
      .catch(fail)
      .finally(() => {
        checkAgainAt = clock.now() + buildFreshMs
        building = undefined
      })
  }

  function fail(error: unknown): void {
    if (!signal.aborted) logger.warn('a tool could not be made ready', { tool: tool.manifest.name, error })
    move({ kind: 'lacking', problem: error instanceof Error ? error.message : String(error) })
  }

  return {
    stage: () => stage,
    async checked() {
      if (building || stage.kind === 'ready') return
      if (stage.kind === 'lacking' && clock.now() < checkAgainAt) return
      checking ??= check()
        .catch(fail)
        .finally(() => {
          checkAgainAt = Math.max(checkAgainAt, clock.now() + freshMs)
          checking = undefined
        })
      await checking
    },
    async settled() {
      await checking
      await building
    },
  }
}
