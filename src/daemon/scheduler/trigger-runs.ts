import type { Conversations, InboundMessage } from '../../agent/conversations.ts'
import type { Clock } from '../../base/clock.ts'
import type { Ids } from '../../base/ids.ts'
import { parseAnyJson } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import { reasonOf } from '../../base/text.ts'
import type { ToolCatalog } from '../../custom-tools/catalog.ts'
import type { ToolRun } from '../../custom-tools/execute.ts'
import { wrapOutput } from '../../custom-tools/output.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Json, Label } from '../../protocol/messages.ts'
import type { Database, Writer } from '../../storage/database.ts'
import type { TriggerRunRow } from '../../storage/tables.ts'

const keptForMs = 30 * 24 * 60 * 60_000
const maxErrorLength = 500

/** The actions for a cron tool at one moment: missed times and why, the run that starts now, and the next time. */
interface CronStep {
  missed: readonly number[]
  reason: string
  begins: number | undefined
  next: number | undefined
}

export type TriggerRuns = ReturnType<typeof createTriggerRuns>

/** Automatic runs in the order of their times: past, running and future ones. */
export function createTriggerRuns(dependencies: { database: Database; clock: Clock; ids: Ids }) {
  const { database, clock, ids } = dependencies

  function rowOf(
    row: Pick<TriggerRunRow, 'tool' | 'kind' | 'due_at' | 'state'> & Partial<TriggerRunRow>,
  ): TriggerRunRow {
    return { id: ids.next(), started_at: null, finished_at: null, error: null, input: null, ...row }
  }

  async function deleteOld(writer: Writer, tool: string): Promise<void> {
    await writer
      .deleteFrom('trigger_runs')
      .where('tool', '=', tool)
      .where('due_at', '<', clock.now() - keptForMs)
      .where('state', 'in', ['done', 'failed', 'missed'])
      .execute()
  }

  return {
    /** Runs interrupted by a crash have failed: their progress is unknown. Returns how many. */
    async closeInterrupted() {
      const error = 'Interrupted: Familiar stopped while it ran.'
      const change = { state: 'failed', finished_at: clock.now(), error } as const
      const closed = await database.write((writer) =>
        writer.updateTable('trigger_runs').set(change).where('state', '=', 'running').executeTakeFirst(),
      )
      return Number(closed.numUpdatedRows)
    },
    /** Oldest first. */
    waiting: (kind: TriggerRunRow['kind']) =>
      database.read
        .selectFrom('trigger_runs')
        .selectAll()
        .where('kind', '=', kind)
        .where('state', '=', 'scheduled')
        .orderBy('due_at')
        .orderBy('id')
        .execute(),
    /** Replaces the waiting entry of this cron tool by the step, in one commit. Returns the id of the started run. */
    async moveOn(tool: string, { missed, reason, begins, next }: CronStep) {
      const now = clock.now()
      const cron = { tool, kind: 'cron' } as const
      const past = missed.map((due_at) => rowOf({ ...cron, due_at, state: 'missed', error: reason }))
      const running =
        begins === undefined ? [] : [rowOf({ ...cron, due_at: begins, started_at: now, state: 'running' })]
      const coming = next === undefined ? [] : [rowOf({ ...cron, due_at: next, state: 'scheduled' })]
      await database.write(async (writer) => {
        await deleteWaiting(writer, tool)
        const rows = [...past, ...running, ...coming]
        if (rows.length > 0) await writer.insertInto('trigger_runs').values(rows).execute()
        await deleteOld(writer, tool)
      })
      return running[0]?.id
    },
    /** This cron tool no longer waits for anything. */
    forget: (tool: string) => database.write((writer) => deleteWaiting(writer, tool)),
    /** A waiting webhook run, in the unit of the caller that accepted it. */
    async addWebhook(writer: Writer, tool: string, input: string) {
      const row = rowOf({ tool, kind: 'webhook', due_at: clock.now(), state: 'scheduled', input })
      await writer.insertInto('trigger_runs').values(row).execute()
      await deleteOld(writer, tool)
      return row.id
    },
    /** Its input is deleted. False if it has already started: it must not start twice. */
    async begin(id: string) {
      const change = { state: 'running', started_at: clock.now(), input: null } as const
      const begun = await database.write((writer) =>
        writer
          .updateTable('trigger_runs')
          .set(change)
          .where('id', '=', id)
          .where('state', '=', 'scheduled')
          .executeTakeFirst(),
      )
      return Number(begun.numUpdatedRows) === 1
    },
    /** With an error it has failed. */
    async finish(id: string, error?: string) {
      const state = error === undefined ? ('done' as const) : ('failed' as const)
      const shown = error?.slice(0, maxErrorLength).toWellFormed() ?? null
      const change = { state, finished_at: clock.now(), error: shown, input: null }
      await database.write((writer) => writer.updateTable('trigger_runs').set(change).where('id', '=', id).execute())
    },
  }
}

async function deleteWaiting(writer: Writer, tool: string): Promise<void> {
  await writer
    .deleteFrom('trigger_runs')
    .where('tool', '=', tool)
    .where('kind', '=', 'cron')
    .where('state', '=', 'scheduled')
    .execute()
}

/**
 * A timer counts only time when the machine is awake, and the clock may be set: after this time it is checked again. It
 * also keeps every wait far below a timer's limit of 24.8 days.
 */
const maxWaitMs = 5 * 60_000
const retryMs = 60_000

export type TimedSteps = ReturnType<typeof createTimedSteps>

/**
 * Repeats a step that returns when it is due again, however far off; undefined for never. One timer; steps never
 * overlap, and one that fails is retried. Nothing happens before `start`.
 */
export function createTimedSteps(options: {
  clock: Clock
  logger: Logger
  /** Logged if a step fails. */
  problem: string
  step(): Promise<number | undefined>
}) {
  const { clock, logger, problem, step } = options
  let cancelTimer = () => {}
  let steps = Promise.resolve()
  let isRunning = false

  function wakeAt(time: number | undefined): void {
    cancelTimer()
    cancelTimer = () => {}
    if (time === undefined || !isRunning) return
    const setAt = clock.now()
    const wait = Math.max(0, time - setAt)
    cancelTimer = clock.after(Math.min(wait, maxWaitMs), () => {
      const now = clock.now()
      // A clock that went back also invalidates the times computed before it.
      if (now < time && now >= setAt) wakeAt(time)
      else void look()
    })
  }

  async function runStep(): Promise<void> {
    if (!isRunning) return
    try {
      wakeAt(await step())
    } catch (cause) {
      logger.error(problem, { error: cause })
      wakeAt(clock.now() + retryMs)
    }
  }

  function look(): Promise<void> {
    steps = steps.then(runStep)
    return steps
  }

  return {
    isRunning: () => isRunning,
    /** Makes the next step now. */
    look,
    start(): Promise<void> {
      isRunning = true
      return look()
    },
    /** Waits for the running step. */
    async close(): Promise<void> {
      isRunning = false
      wakeAt(undefined)
      await steps
    },
  }
}

const largestState = 64 * 1024

/** The stored state of a tool; an empty object before it stored any. */
async function readKeptState(database: Database, tool: string): Promise<Json> {
  const row = await database.read.selectFrom('tool_states').select('state').where('name', '=', tool).executeTakeFirst()
  const parsed = parseAnyJson(row?.state ?? '{}')
  return parsed.ok ? parsed.value : {}
}

/** Throws `payload_too_large` if it exceeds the limit; the previous state then stays. */
async function writeKeptState(
  { database, clock }: { database: Database; clock: Clock },
  tool: string,
  state: Json,
): Promise<void> {
  const text = JSON.stringify(state)
  if (text.length > largestState) {
    const message = `Its _state has ${text.length} characters; the limit is ${largestState}.`
    throw new FamiliarError('payload_too_large', message)
  }
  const updated_at = clock.now()
  // A running tool is enabled: a missing row means nothing else.
  const row = { name: tool, is_enabled: 1, fingerprint: null, hosts: '[]', state: text, updated_at } as const
  await database.write((writer) =>
    writer
      .insertInto('tool_states')
      .values(row)
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ state: text, updated_at }))
      .execute(),
  )
}

/** A message for the owner's main session. Tool output never counts as the user's own words (SEC-17). */
export type TriggerMessage = InboundMessage & { label: Extract<Label, 'untrusted'> }

export interface TriggerNeeds {
  run: RunTool
  conversations: Pick<Conversations, 'findSession'> & { submit(message: TriggerMessage): Promise<unknown> }
  database: Database
  clock: Clock
  ownerId: string
  logger: Logger
}

export interface RunToPerform {
  id: string
  kind: TriggerRunRow['kind']
  tool: TriggeredTool
  params: Json
}

const mainContact = 'main'

/** Performs one recorded run, and records how it ended. Never throws. */
export function createTriggerRunner(needs: TriggerNeeds & { runs: TriggerRuns }) {
  const { conversations, database, ownerId, logger, runs } = needs

  async function perform({ id, kind, tool, params }: RunToPerform, signal: AbortSignal): Promise<string | undefined> {
    const state = await readKeptState(database, tool.name)
    const run = await needs.run({ userId: ownerId, name: tool.name, params, caller: kind, state, signal })
    if (!run.ok) return run.error ?? 'It failed without an error message.'
    if (run.state !== undefined) await writeKeptState(needs, tool.name, run.state)
    const text = textToTell(tool, run)
    // Without text there is no message, and no model is called.
    if (text === undefined) return undefined
    const wrapped = wrapOutput(tool.name, text)
    const session = await conversations.findSession(ownerId, mainContact)
    await conversations.submit({
      userId: ownerId,
      channel: session?.channel ?? 'http',
      contact: mainContact,
      sender: `tool:${tool.name}`,
      source: kind,
      text: [tool.prompt.trim(), wrapped].filter((part) => part !== '').join('\n\n'),
      media: [],
      key: `trigger:${id}`,
      immediate: false,
      metadata: { tool: tool.name, run: id },
      label: 'untrusted',
    })
    return undefined
  }

  return async function performRun(run: RunToPerform, signal: AbortSignal): Promise<void> {
    const error = await perform(run, signal).catch((cause: unknown) =>
      signal.aborted ? 'Interrupted: Familiar was stopped.' : reasonOf(cause),
    )
    if (error !== undefined) logger.warn('an automatic run failed', { tool: run.tool.name, run: run.id, error })
    try {
      await runs.finish(run.id, error)
    } catch (cause) {
      // It stays `running` in the list, and the next start closes it.
      logger.error('could not write the end of a run', { tool: run.tool.name, run: run.id, error: cause })
    }
  }
}

function textToTell(tool: TriggeredTool, run: ToolRun): string | undefined {
  if (!(run.notify ?? tool.notifiesByDefault)) return undefined
  const text = run.text?.trim() || run.card?.text.trim()
  return text === '' ? undefined : text
}

/** A tool with a trigger, as its folder declares it. */
export interface TriggeredTool {
  name: string
  trigger: { kind: 'cron'; schedule: string } | { kind: 'webhook' }
  /** Precedes the output in the message. May be empty. */
  prompt: string
  /** Whether its output is reported if the output itself does not say so (`notification.default_enabled`). */
  notifiesByDefault: boolean
}

export type RunTool = ToolCatalog['run']
