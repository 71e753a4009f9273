import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { readBundledText } from '../base/text-file.ts'
import { estimateTokens } from '../base/tokens.ts'
import type { Ledger } from '../cost/ledger.ts'
import type { Models } from '../models/models.ts'
import { planCompaction, transcriptOf } from '../sessions/compaction-plan.ts'
import type { OpenSessions } from '../sessions/open-sessions.ts'
import { textOf } from '../sessions/projection.ts'
import type { SessionLog } from '../sessions/session-log.ts'
import type { Session } from '../sessions/sessions.ts'
import type { Database } from '../storage/database.ts'
import { type CallPlan, callModel, reserveCall } from './call-model.ts'
import type { Learning } from './learning.ts'
import type { OnStep } from './step.ts'

const prompt = readBundledText(new URL('./prompts/compaction.md', import.meta.url))
const shareOfWindow = 0.75

export interface CompactionSettings {
  thresholdTokens: number
  warnRatio: number
  /** The newest part that stays as it is. */
  keepRatio: number
}

/**
 * Keeps a conversation inside its model's window. The log keeps everything; only what the next request holds changes,
 * and only once a whole summary is there: a failed one changes nothing.
 */
export interface Compaction {
  threshold(source: string): number
  /** After a turn: warns once, compacts past the threshold. */
  afterTurn(session: Session, source: string, signal: AbortSignal): Promise<void>
  /** True where a summary took the place of the oldest part. */
  compact(session: Session, signal: AbortSignal): Promise<boolean>
}

export function createCompaction(dependencies: {
  database: Database
  log: SessionLog
  openSessions: OpenSessions
  ledger: Ledger
  models: Models
  /** As the user has them (CLIENT-4). */
  modelsOf: (userId: string) => Models
  clock: Clock
  random: () => number
  logger: Logger
  settings: () => CompactionSettings
  /** What is learnt from the part before it goes: written in the unit of the swap (MEM-9). */
  beforeSwap?: Learning['beforeSwap']
  onStep: OnStep
}): Compaction {
  const { database, log, openSessions, ledger, models, logger, settings, onStep } = dependencies

  function threshold(source: string): number {
    const window = models.route('primary', source)[0]?.info.maxContextTokens ?? Number.POSITIVE_INFINITY
    return Math.min(settings().thresholdTokens, Math.floor(window * shareOfWindow))
  }

  async function compact(session: Session, signal: AbortSignal): Promise<boolean> {
    const route = dependencies.modelsOf(session.userId).route('compaction')
    if (route[0]?.info.offline) return false
    const projection = await openSessions.projection(session.id)
    const part = planCompaction(projection, 1 - settings().keepRatio)
    if (!part) return false
    const beforeTokens = projection.counted.tokens
    const transcript = transcriptOf(part, projection)
    const plan: CallPlan = {
      models: route,
      inputTokens: estimateTokens(prompt) + estimateTokens(transcript),
      userId: session.userId,
      sessionId: session.id,
      turnId: null,
      purpose: 'compaction',
    }
    const writeLearnt = await dependencies.beforeSwap?.(session, part.throughSeq, signal)
    await ledger.closeInterrupted({ sessionId: session.id, turnId: null })
    const result = await callModel(dependencies, {
      ...plan,
      reservation: await database.write((writer) => reserveCall(ledger, writer, plan)),
      request: {
        system: [{ name: 'compaction', tier: 'stable', text: prompt }],
        messages: [{ role: 'user', parts: [{ type: 'text', text: transcript }] }],
        tools: [],
        loadMedia: () => Promise.reject(new Error('A summary carries no media')),
      },
      signal,
    })
    if (!result.ok) {
      logger.warn('compaction failed; the conversation is as it was', { session: session.id, reason: result.message })
      return false
    }
    onStep('summary_received')
    const { response, model, reserved } = result
    const summary = textOf(response.parts).trim()
    const isWhole = summary !== '' && response.stopReason === 'end'
    const events = isWhole
      ? [
          {
            type: 'compacted' as const,
            throughSeq: part.throughSeq,
            summary,
            messages: part.entries.length,
            beforeTokens,
            ...(projection.seen.untrusted && { label: 'untrusted' as const }),
          },
        ]
      : []
    const logged = await log.record({ sessionId: session.id, turnId: null }, events, async (writer) => {
      await ledger.settle(writer, reserved, response.usage, model.info.costPerMtok)
      if (isWhole) await writeLearnt?.(writer)
    })
    openSessions.follow(session.id, logged)
    onStep('compaction_recorded')
    if (!isWhole) {
      const reason = summary === '' ? 'empty summary' : `summary ended with ${response.stopReason}`
      logger.warn('compaction failed; the conversation is as it was', { session: session.id, reason })
    }
    return isWhole
  }

  return {
    threshold,
    compact,
    async afterTurn(session, source, signal) {
      const projection = await openSessions.projection(session.id)
      const limit = threshold(source)
      const { tokens } = projection.counted
      if (tokens > limit) await compact(session, signal)
      else if (tokens > limit * settings().warnRatio && !projection.warned) {
        const warned = { type: 'context_warned' as const, inputTokens: tokens, thresholdTokens: limit }
        openSessions.follow(session.id, await log.record({ sessionId: session.id, turnId: null }, [warned]))
      }
    },
  }
}
