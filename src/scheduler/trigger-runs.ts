import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Database, Writer } from '../storage/database.ts'
import type { TriggerRunRow } from '../storage/tables.ts'

const keptForMs = 30 * 24 * 60 * 60_000
const longestError = 500

/** What becomes of a cron tool's runs at one moment. */
interface CronStep {
  /** Times that passed without a run, and why. */
  missed: readonly number[]
  reason: string
  /** The time whose run begins now; undefined where none does. */
  begins: number | undefined
  /** When it is due again; undefined where it never is. */
  next: number | undefined
}

/** The runs that nobody asked for, in the order of their times: what was, what is under way and what comes. */
export interface TriggerRuns {
  /** What a crash left under way has failed: nobody knows how far it came. How many there were. */
  closeInterrupted(): Promise<number>
  /** Oldest first. */
  waiting(kind: TriggerRunRow['kind']): Promise<TriggerRunRow[]>
  /** Puts the step in place of what waited for this cron tool, in one commit. The id of the run that begins. */
  moveOn(tool: string, step: CronStep): Promise<string | undefined>
  /** These cron tools wait for nothing any more. */
  forget(tools: readonly string[]): Promise<void>
  /** A webhook's run that waits for its turn. In the unit of whoever accepted it. */
  addWebhook(writer: Writer, tool: string, input: string): Promise<string>
  /** What came with it is not kept any longer. False where it has begun already: it must not begin twice. */
  begin(id: string): Promise<boolean>
  /** With an error it has failed. */
  finish(id: string, error?: string): Promise<void>
}

export function createTriggerRuns(dependencies: { database: Database; clock: Clock; ids: Ids }): TriggerRuns {
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
    async closeInterrupted() {
      const change = { state: 'failed', finished_at: clock.now(), error: interrupted } as const
      const closed = await database.write((writer) =>
        writer.updateTable('trigger_runs').set(change).where('state', '=', 'running').executeTakeFirst(),
      )
      return Number(closed.numUpdatedRows)
    },
    waiting: (kind) =>
      database.read
        .selectFrom('trigger_runs')
        .selectAll()
        .where('kind', '=', kind)
        .where('state', '=', 'scheduled')
        .orderBy('due_at')
        .orderBy('id')
        .execute(),
    async moveOn(tool, { missed, reason, begins, next }) {
      const now = clock.now()
      const cron = { tool, kind: 'cron' } as const
      const past = missed.map((due_at) => rowOf({ ...cron, due_at, state: 'missed', error: reason }))
      const running =
        begins === undefined ? [] : [rowOf({ ...cron, due_at: begins, started_at: now, state: 'running' })]
      const coming = next === undefined ? [] : [rowOf({ ...cron, due_at: next, state: 'scheduled' })]
      await database.write(async (writer) => {
        await deleteWaiting(writer, [tool])
        const rows = [...past, ...running, ...coming]
        if (rows.length > 0) await writer.insertInto('trigger_runs').values(rows).execute()
        await deleteOld(writer, tool)
      })
      return running[0]?.id
    },
    forget: (tools) => database.write((writer) => deleteWaiting(writer, tools)),
    async addWebhook(writer, tool, input) {
      const row = rowOf({ tool, kind: 'webhook', due_at: clock.now(), state: 'scheduled', input })
      await writer.insertInto('trigger_runs').values(row).execute()
      await deleteOld(writer, tool)
      return row.id
    },
    async begin(id) {
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
    async finish(id, error) {
      const state = error === undefined ? ('done' as const) : ('failed' as const)
      const shown = error?.slice(0, longestError).toWellFormed() ?? null
      const change = { state, finished_at: clock.now(), error: shown, input: null }
      await database.write((writer) => writer.updateTable('trigger_runs').set(change).where('id', '=', id).execute())
    },
  }
}

const interrupted = 'Interrupted: Familiar ended while it ran.'

async function deleteWaiting(writer: Writer, tools: readonly string[]): Promise<void> {
  if (tools.length === 0) return
  await writer
    .deleteFrom('trigger_runs')
    .where('tool', 'in', tools)
    .where('kind', '=', 'cron')
    .where('state', '=', 'scheduled')
    .execute()
}
