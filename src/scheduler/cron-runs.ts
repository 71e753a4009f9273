import type { Clock } from '../base/clock.ts'
import { type CronExpression, parseCronExpression } from '../base/cron-expression.ts'
import type { Logger } from '../base/logger.ts'
import { createAlarm } from './alarm.ts'
import type { ToolLanes } from './tool-lanes.ts'
import type { RunToPerform } from './trigger-runner.ts'
import type { TriggerRuns } from './trigger-runs.ts'
import type { TriggeredTool } from './triggered-tool.ts'

/**
 * Catch-up: of all times that passed while Familiar was not running, the newest one is made up for, once, where it is
 * not older than this. A digest of the morning is still wanted at noon, and not the day after.
 */
export const catchUpMs = 12 * 60 * 60_000
/** So many are written down as missed, the newest ones. */
const mostMissed = 50
const retryMs = 60_000

type CronTool = TriggeredTool & { trigger: { kind: 'cron' } }

/**
 * Begins the runs of cron tools at their times. The next time of each tool lies in the database before it comes, so that
 * a start finds what was missed. One timer for all of them, and none where there is no cron tool.
 */
export function createCronRuns(dependencies: {
  tools: () => readonly TriggeredTool[]
  /** Whether a tool is still being made ready: what waits for it is kept. */
  isComing(tool: string): Promise<boolean>
  runs: TriggerRuns
  lanes: ToolLanes
  /** Never throws. */
  perform(run: RunToPerform): Promise<void>
  clock: Clock
  timeZone: string
  logger: Logger
}) {
  const { runs, lanes, clock, timeZone, logger } = dependencies
  const expressions = new Map<string, CronExpression>()
  let steps = Promise.resolve()
  let isClosed = false
  const alarm = createAlarm({ clock, onTime: () => void look() })

  function expressionOf(tool: CronTool): CronExpression | undefined {
    const { schedule } = tool.trigger
    const known = expressions.get(schedule)
    if (known) return known
    const parsed = parseCronExpression(schedule, timeZone)
    if (parsed.ok) expressions.set(schedule, parsed.value)
    else logger.warn('a tool has no schedule that can be kept', { tool: tool.name, problem: parsed.message })
    return parsed.ok ? parsed.value : undefined
  }

  /** Looks at every cron tool: what is due begins, and the rest gets its next time. */
  async function step(): Promise<void> {
    if (isClosed) return
    try {
      const tools = dependencies.tools().filter(isCron)
      const waiting = new Map((await runs.waiting('cron')).map((row) => [row.tool, Number(row.due_at)]))
      const times: number[] = []
      const gone = new Set(waiting.keys())
      for (const tool of tools) {
        const expression = expressionOf(tool)
        if (!expression) continue
        gone.delete(tool.name)
        const next = await settle(tool, expression, waiting.get(tool.name))
        if (next !== undefined) times.push(next)
      }
      for (const name of gone) if (!(await dependencies.isComing(name))) await runs.forget([name])
      wakeAt(times.length > 0 ? Math.min(...times) : undefined)
    } catch (cause) {
      logger.error('what is due could not be read; it is tried again', { error: cause })
      wakeAt(clock.now() + retryMs)
    }
  }

  /** Answers when it is due next. */
  async function settle(
    tool: CronTool,
    expression: CronExpression,
    dueAt: number | undefined,
  ): Promise<number | undefined> {
    const now = clock.now()
    const next = expression.next(now)
    if (dueAt !== undefined && dueAt > now && dueAt === next) return next
    const passed = dueAt === undefined ? [] : expression.between(dueAt, now, mostMissed)
    const [newest] = passed
    const isBusy = lanes.isBusy(tool.name)
    const begins = newest !== undefined && !isBusy && now - newest <= catchUpMs ? newest : undefined
    const missed = begins === undefined ? passed : passed.slice(1)
    const reason = isBusy ? 'The run before it was still under way.' : notRunning
    if (missed.length > 0) {
      const count = passed.length === mostMissed ? `${missed.length} or more` : missed.length
      const told = { tool: tool.name, missed: count, newest: isoTime(missed[0]), reason }
      logger.warn('runs of a tool were missed', { ...told, late: begins === undefined ? 'none' : isoTime(begins) })
    }
    const id = await runs.moveOn(tool.name, { missed, reason, begins, next })
    if (id !== undefined) lanes.add(tool.name, () => dependencies.perform({ id, kind: 'cron', tool, params: {} }))
    return next
  }

  function wakeAt(time: number | undefined): void {
    alarm.set(isClosed ? undefined : time)
  }

  function look(): Promise<void> {
    steps = steps.then(step)
    return steps
  }

  return {
    /** At the start, and when tools have come, gone or changed. */
    look,
    async close(): Promise<void> {
      isClosed = true
      alarm.set(undefined)
      await steps
    },
  }
}

const notRunning = 'Familiar was not running at that time, or the machine slept.'

function isCron(tool: TriggeredTool): tool is CronTool {
  return tool.trigger.kind === 'cron'
}

function isoTime(time: number | undefined): string {
  return time === undefined ? '' : new Date(time).toISOString()
}
