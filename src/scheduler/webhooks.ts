import type { Clock } from '../base/clock.ts'
import { parseAnyJson } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import { toStorableText } from '../base/text.ts'
import type { Webhooks } from '../channels/http/webhook-call.ts'
import { FamiliarError } from '../protocol/error.ts'
import type { Json } from '../protocol/json.ts'
import type { Database, Writer } from '../storage/database.ts'
import { toIndexKey } from '../storage/index-key.ts'
import type { TriggerRunRow } from '../storage/tables.ts'
import type { ToolLanes } from './tool-lanes.ts'
import type { RunToPerform } from './trigger-runner.ts'
import type { TriggerRuns } from './trigger-runs.ts'
import type { TriggeredTool } from './triggered-tool.ts'
import { isSignedWith, mostSecondsOff } from './webhook-signature.ts'

const minuteMs = 60_000
const mostPerMinute = 30
/** Beyond this a tool is slower than those who call it, and they are told to wait. */
const mostWaiting = 100
/** A nonce could be used again as long as its timestamp may be ahead and then old. */
const nonceLifeMs = 2 * mostSecondsOff * 1_000

interface WaitingRun {
  id: string
  tool: string
  input: string
}

/** Checks and takes what comes from outside for tools that are triggered by webhook. */
export function createWebhooks(dependencies: {
  tools: () => readonly TriggeredTool[]
  /** Whether a tool is still being made ready: its calls are taken, and wait for it. */
  isComing(tool: string): Promise<boolean>
  /** The secret that a tool's callers sign with; undefined where none was made. */
  secretOf(tool: string): Promise<string | undefined>
  runs: TriggerRuns
  lanes: ToolLanes
  /** Never throws. */
  perform(run: RunToPerform): Promise<void>
  database: Database
  clock: Clock
  logger: Logger
  /** Aborted when nothing more is to begin: what waits is taken up at the next start. */
  signal: AbortSignal
}): Webhooks & { takeUp(): Promise<void> } {
  const { isComing, secretOf, runs, lanes, database, clock, logger, signal } = dependencies
  /** What is under way or waits in its lane. */
  const queued = new Set<string>()
  let isStarted = false

  function find(name: string): TriggeredTool | undefined {
    return dependencies.tools().find((tool) => tool.name === name && tool.trigger.kind === 'webhook')
  }

  async function make(run: WaitingRun): Promise<void> {
    if (signal.aborted) return
    const tool = find(run.tool)
    if (!tool && (await isComing(run.tool))) return
    if (!tool) return runs.finish(run.id, 'The tool takes no webhooks any more.')
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
        logger.error('a webhook could not be worked on; it is taken up later', { tool: run.tool, error: cause })
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
      if (secondsOff <= mostSecondsOff) return true
      const message = `The timestamp is ${Math.round(secondsOff)} seconds off; ${mostSecondsOff} are allowed.`
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
     * What was accepted and has not begun: before the daemon went down, or while its tool was made ready. Nothing is
     * worked on before this is first called.
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
  if (rows.filter((row) => row.state === 'scheduled').length >= mostWaiting) {
    throw new FamiliarError('rate_limited', `Too many calls wait for ${tool}.`, { retryAfterSeconds: 60 })
  }
  const recent = rows.map((row) => Number(row.due_at)).filter((time) => time > now - minuteMs)
  if (recent.length < mostPerMinute) return
  // The one that must have grown old before there is room again.
  const oldest = recent[recent.length - mostPerMinute] ?? now
  const retryAfterSeconds = Math.max(1, Math.ceil((oldest + minuteMs - now) / 1_000))
  throw new FamiliarError('rate_limited', `${tool} takes ${mostPerMinute} calls a minute.`, { retryAfterSeconds })
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
    throw new FamiliarError('conflict', 'This nonce was used before.')
  }
}

/** The fields of a JSON object, and the whole text as `body` where no field is called that. */
function paramsOf(input: string): Json {
  const parsed = parseAnyJson(input)
  const isObject =
    parsed.ok && typeof parsed.value === 'object' && parsed.value !== null && !Array.isArray(parsed.value)
  return isObject ? { body: input, ...(parsed.value as { [key: string]: Json }) } : { body: input }
}
