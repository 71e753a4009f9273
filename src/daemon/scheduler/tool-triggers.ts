import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { type CronExpression, parseCronExpression } from '../../base/cron-expression.ts'
import { type Ids, signRequest } from '../../base/ids.ts'
import { camelKeys, parseAnyJson } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import { toStorableText } from '../../base/text.ts'
import { createTurnstile } from '../../base/work.ts'
import type { ToolCatalog } from '../../custom-tools/catalog.ts'
import type { HttpTriggers, WebhookCall, Webhooks } from '../../http/dependencies.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Json } from '../../protocol/messages.ts'
import type { TriggerRun } from '../../protocol/tools.ts'
import type { Vault } from '../../security/vault.ts'
import { type Database, type Reader, toIndexKey, type Writer } from '../../storage/database.ts'
import type { TriggerRunRow } from '../../storage/tables.ts'
import { notRunning, punctualMs } from './deliver-run.ts'
import {
  createTimedSteps,
  createTriggerRunner,
  createTriggerRuns,
  type RunToPerform,
  type TimedSteps,
  type TriggeredTool,
  type TriggerNeeds,
  type TriggerRuns,
} from './trigger-runs.ts'

const maxAtOnce = 4

export type ToolTriggers = HttpTriggers &
  Pick<TimedSteps, 'start' | 'close'> & {
    /** Called when tools were added, removed or changed, and after a config reload. Returns at once. */
    refresh(): void
  }

/**
 * Runs tools automatically: by schedule and by webhook. Never two runs of one tool at once. A run is recorded before it
 * starts; its output, if it should be reported, becomes a message in the owner's main session. No model is called
 * otherwise, and without scheduled tools nothing happens at all.
 */
export function createToolTriggers(
  needs: TriggerNeeds & {
    /** Enabled tools with a trigger; none while tools are switched off. */
    tools: () => readonly TriggeredTool[]
    show: ToolCatalog['show']
    /** Contains the signing secrets of webhooks. */
    vault: Pick<Vault, 'get' | 'set'>
    ids: Ids
    timeZone: string
  },
): ToolTriggers {
  const ending = new AbortController()
  let hasStarted = false
  const runs = createTriggerRuns(needs)
  const lanes = createToolLanes()
  const runner = createTriggerRunner({ ...needs, runs })
  const perform = (run: RunToPerform) => runner(run, ending.signal)
  const isComing = async (tool: string) => (await needs.show(needs.ownerId, tool))?.status === 'building'
  const cron = createCronRuns({ ...needs, isComing, runs, lanes, perform })
  const secretName = (tool: string) => ({ userId: needs.ownerId, owner: `tool:${tool}`, name: 'webhook' })
  const secretOf = (tool: string) => needs.vault.get(secretName(tool))
  const { takeUp, ...webhooks } = createWebhooks({
    ...needs,
    isComing,
    secretOf,
    runs,
    lanes,
    perform,
    signal: ending.signal,
  })

  return {
    webhooks,
    // They run for the owner only.
    runs: async (userId, query) => (userId === needs.ownerId ? listTriggerRuns(needs.database.read, query) : []),
    async makeHookSecret(userId, tool) {
      // Also for a disabled tool: it accepts no calls, but may get its secret before.
      const known = userId === needs.ownerId ? await needs.show(userId, tool) : undefined
      if (known?.trigger !== 'webhook') {
        throw new FamiliarError('not_found', `There is no tool ${tool} with a webhook trigger.`)
      }
      const secret = randomBytes(32).toString('base64url')
      await needs.vault.set(secretName(tool), secret)
      return secret
    },
    async start() {
      // Before anything of this run starts, or it would be treated as interrupted.
      const interrupted = await runs.closeInterrupted()
      if (interrupted > 0)
        needs.logger.warn('runs of tools were interrupted when Familiar stopped', { runs: interrupted })
      hasStarted = true
      await takeUp()
      await cron.start()
    },
    refresh() {
      if (!hasStarted) return
      void cron.look()
      takeUp().catch((cause: unknown) => needs.logger.error('could not read waiting webhooks', { error: cause }))
    },
    async close() {
      await cron.close()
      ending.abort(new Error('Familiar is stopping'))
      await lanes.idle()
    },
  }
}

/**
 * Catch-up: of all times that passed while Familiar was not running, the newest one is made up for, once, if it is not
 * older than this. A morning digest is still wanted at noon, but not the day after.
 */
export const catchUpMs = 12 * 60 * 60_000
/** How many are recorded as missed, newest first. */
const maxMissed = 50

interface TriggerParts {
  tools: () => readonly TriggeredTool[]
  /** Whether a tool is still being prepared: its waiting runs are kept, and its calls accepted. */
  isComing(tool: string): Promise<boolean>
  runs: TriggerRuns
  lanes: ReturnType<typeof createToolLanes>
  /** Never throws. */
  perform(run: RunToPerform): Promise<void>
  clock: Clock
  logger: Logger
}

/**
 * Starts the runs of cron tools at their times. The next time of each tool is stored before it comes, so that a start
 * finds missed runs. One timer for all of them, and none without a cron tool.
 */
function createCronRuns(dependencies: TriggerParts & { timeZone: string }) {
  const { runs, lanes, clock, timeZone, logger } = dependencies

  /** Returns when it is due next. */
  async function settle(
    tool: TriggeredTool,
    expression: CronExpression,
    dueAt: number | undefined,
  ): Promise<number | undefined> {
    const now = clock.now()
    const next = expression.next(now)
    if (dueAt !== undefined && dueAt > now && dueAt === next) return next
    const passed = dueAt === undefined ? [] : expression.between(dueAt, now, maxMissed)
    const [newest] = passed
    const isBusy = lanes.isBusy(tool.name)
    const begins = newest !== undefined && !isBusy && now - newest <= catchUpMs ? newest : undefined
    const missed = begins === undefined ? passed : passed.slice(1)
    const reason = isBusy ? 'The previous run was still in progress.' : notRunning
    if (missed.length > 0) {
      const count = passed.length === maxMissed ? `${missed.length} or more` : missed.length
      const newest = new Date(missed[0] ?? 0).toISOString()
      const late = begins === undefined ? 'none' : new Date(begins).toISOString()
      logger.warn('runs of a tool were missed', { tool: tool.name, missed: count, newest, reason, late })
    }
    const id = await runs.moveOn(tool.name, { missed, reason, begins, next })
    if (id !== undefined) lanes.add(tool.name, () => dependencies.perform({ id, kind: 'cron', tool, params: {} }))
    return next
  }

  return createTimedSteps({
    clock,
    logger,
    problem: 'could not read due runs; will retry',
    /** Checks every cron tool: due runs start, and the others get their next time. */
    async step() {
      const waiting = new Map((await runs.waiting('cron')).map((row) => [row.tool, Number(row.due_at)]))
      const times: number[] = []
      const gone = new Set(waiting.keys())
      for (const tool of dependencies.tools()) {
        if (tool.trigger.kind !== 'cron') continue
        const expression = parseCronExpression(tool.trigger.schedule, timeZone)
        if (!expression.ok) {
          logger.warn('a tool has an invalid schedule', { tool: tool.name, problem: expression.message })
          continue
        }
        gone.delete(tool.name)
        const next = await settle(tool, expression.value, waiting.get(tool.name))
        if (next !== undefined) times.push(next)
      }
      for (const name of gone) if (!(await dependencies.isComing(name))) await runs.forget(name)
      return times.length > 0 ? Math.min(...times) : undefined
    },
  })
}

/** Automatic runs, newest first, preceded by future ones. */
export async function listTriggerRuns(
  read: Reader,
  query: { tool?: string | undefined; limit: number },
): Promise<TriggerRun[]> {
  let selected = read.selectFrom('trigger_runs').selectAll()
  if (query.tool !== undefined) selected = selected.where('tool', '=', query.tool)
  const rows = await selected.orderBy('due_at', 'desc').orderBy('id', 'desc').limit(query.limit).execute()
  return rows.map(camelKeys).map((run) => ({
    ...run,
    isLate: run.startedAt !== null && run.startedAt - run.dueAt > punctualMs,
  }))
}

/** Runs tasks one after another per tool, with a limit over all tools. */
function createToolLanes() {
  const lanes = new Map<string, Promise<void>>()
  const inSlot = createTurnstile(maxAtOnce)
  return {
    isBusy: (tool: string) => lanes.has(tool),
    /** Returns at once. The task must not throw. */
    add(tool: string, task: () => Promise<void>) {
      const before = lanes.get(tool) ?? Promise.resolve()
      const lane = before.then(() => inSlot(task))
      lanes.set(tool, lane)
      void lane.finally(() => {
        if (lanes.get(tool) === lane) lanes.delete(tool)
      })
    },
    /** Resolves when nothing runs and nothing waits. */
    async idle() {
      while (lanes.size > 0) await Promise.all(lanes.values())
    },
  }
}

/** How many seconds a sender's clock may be off, including the duration of a request. */
const maxSecondsOff = 300

/** Compared if there is no secret, so that it takes the same time. */
const unknownSecret = randomBytes(32).toString('hex')

/** Whether the sender knows the secret, by its hex signature. Takes the same time for a tool that does not exist. */
export function isSignedWith(secret: string | undefined, call: WebhookCall): boolean {
  const { timestamp = '', nonce = '', signature = '', body } = call
  const expected = signRequest(secret ?? unknownSecret, { timestamp, nonce, body })
  const isWritten = /^\d{1,12}$/.test(timestamp) && /^[\w-]{8,128}$/.test(nonce) && /^[0-9a-f]{64}$/i.test(signature)
  const given = isWritten ? Buffer.from(signature, 'hex') : Buffer.alloc(expected.length)
  return timingSafeEqual(given, expected) && isWritten && secret !== undefined
}

const minuteMs = 60_000
const maxPerMinute = 30
/** Above this a tool is slower than its callers, which are asked to wait. */
const maxWaiting = 100
/** How long a nonce could be reused: its timestamp may be ahead and then old. */
const nonceLifeMs = 2 * maxSecondsOff * 1_000

type WaitingRun = Pick<TriggerRunRow, 'id' | 'tool'> & { input: string }

/** Verifies and accepts calls for tools with a webhook trigger. */
function createWebhooks(
  dependencies: TriggerParts & {
    /** The signing secret of a tool's callers; undefined if there is none. */
    secretOf(tool: string): Promise<string | undefined>
    database: Database
    /** Aborted when nothing more may start: waiting calls are processed at the next start. */
    signal: AbortSignal
  },
): Webhooks & { takeUp(): Promise<void> } {
  const { isComing, secretOf, runs, lanes, database, clock, logger, signal } = dependencies
  /** Running or waiting in its lane. */
  const queued = new Set<string>()
  let isStarted = false

  function find(name: string): TriggeredTool | undefined {
    return dependencies.tools().find((tool) => tool.name === name && tool.trigger.kind === 'webhook')
  }

  async function make(run: WaitingRun): Promise<void> {
    if (signal.aborted) return
    const tool = find(run.tool)
    if (!tool && (await isComing(run.tool))) return
    if (!tool) return runs.finish(run.id, 'The tool no longer accepts webhooks.')
    if (!(await runs.begin(run.id))) return
    await dependencies.perform({ id: run.id, kind: 'webhook', tool, params: paramsOf(run.input) })
  }

  function queue(run: WaitingRun): void {
    if (!isStarted || queued.has(run.id)) return
    queued.add(run.id)
    lanes.add(run.tool, async () => {
      try {
        await make(run)
      } catch (cause) {
        logger.error('could not process a webhook; will retry later', { tool: run.tool, error: cause })
      }
      queued.delete(run.id)
    })
  }

  return {
    async isSigned(call) {
      const secret = await secretOf(call.tool)
      const isTaken = find(call.tool) !== undefined || (await isComing(call.tool))
      if (!isSignedWith(isTaken ? secret : undefined, call)) return false
      const secondsOff = Math.abs(clock.now() / 1_000 - Number(call.timestamp))
      if (secondsOff <= maxSecondsOff) return true
      const message = `The timestamp is ${Math.round(secondsOff)} seconds off; the limit is ${maxSecondsOff}.`
      throw new FamiliarError('unauthorized', message)
    },
    async accept({ tool, nonce = '', body }) {
      const input = toStorableText(new TextDecoder().decode(body))
      const runId = await database.write(async (writer) => {
        await refuseTooMany(writer, tool, clock.now())
        await useNonce(writer, { tool, nonce, at: clock.now() })
        return await runs.addWebhook(writer, tool, input)
      })
      queue({ id: runId, tool, input })
      return { runId }
    },
    /**
     * Accepted calls that have not started: from before a restart, or while the tool was being prepared. Nothing is
     * processed before this is first called.
     */
    async takeUp() {
      isStarted = true
      for (const row of await runs.waiting('webhook')) queue({ id: row.id, tool: row.tool, input: row.input ?? '' })
    },
  }
}

async function refuseTooMany(writer: Writer, tool: string, now: number): Promise<void> {
  const rows = await writer
    .selectFrom('trigger_runs')
    .select(['due_at', 'state'])
    .where('tool', '=', tool)
    .where('kind', '=', 'webhook' satisfies TriggerRunRow['kind'])
    .where((where) => where.or([where('due_at', '>', now - minuteMs), where('state', '=', 'scheduled')]))
    .orderBy('due_at')
    .execute()
  if (rows.filter((row) => row.state === 'scheduled').length >= maxWaiting) {
    throw new FamiliarError('rate_limited', `Too many calls are waiting for ${tool}.`, { retryAfterSeconds: 60 })
  }
  const recent = rows.map((row) => Number(row.due_at)).filter((time) => time > now - minuteMs)
  if (recent.length < maxPerMinute) return
  // The call that must expire before there is space again.
  const oldest = recent[recent.length - maxPerMinute] ?? now
  const retryAfterSeconds = Math.max(1, Math.ceil((oldest + minuteMs - now) / 1_000))
  throw new FamiliarError('rate_limited', `${tool} accepts ${maxPerMinute} calls a minute.`, { retryAfterSeconds })
}

async function useNonce(writer: Writer, used: { tool: string; nonce: string; at: number }): Promise<void> {
  await writer
    .deleteFrom('webhook_nonces')
    .where('at', '<', used.at - nonceLifeMs)
    .execute()
  const inserted = await writer
    .insertInto('webhook_nonces')
    .values({ ...used, nonce: toIndexKey(used.nonce) })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  if (Number(inserted.numInsertedOrUpdatedRows ?? 0) === 0) {
    throw new FamiliarError('conflict', 'This nonce was already used.')
  }
}

/** The fields of a JSON object, and the whole text as `body` unless a field has that name. */
function paramsOf(input: string): Json {
  const parsed = parseAnyJson(input)
  const isObject =
    parsed.ok && typeof parsed.value === 'object' && parsed.value !== null && !Array.isArray(parsed.value)
  return isObject ? { body: input, ...(parsed.value as { [key: string]: Json }) } : { body: input }
}
