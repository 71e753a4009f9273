import type { Clock } from '../base/clock.ts'
import { createWakeups, rounds } from '../base/work.ts'
import { approvalQuestion, approvalView } from '../security/approval-texts.ts'
import { type Approval, type Approvals, reportSource } from '../security/approvals.ts'
import type { Spawn } from '../tools/builtin/subagent-tools.ts'
import type { AskedApproval } from '../tools/tool.ts'
import type { Conversations, TurnEnd } from './conversations.ts'
import type { LoggedEvent } from './sessions/session-event.ts'
import type { SessionLog } from './sessions/session-log.ts'

/** The question for an approval that a sub-agent waits for, as the conversation above shows it. */
export function askOf(approval: Approval): AskedApproval {
  return { id: approval.id, question: approvalQuestion(approval), approval: approvalView(approval) }
}

interface Waiting {
  spawn: Spawn
  sessionId: string
}

/** Enough to hold the newest turn of any session. */
const newest = 500

/**
 * The questions of sub-agents (SUB-2). A sub-agent that asks waits, and its user is asked in the conversation above: by
 * the call that waits for it, or by a message if none does. All of it is derived from the approvals and the logs, so that
 * it continues after a restart.
 */
export function createSubagentQuestions(dependencies: {
  conversations: () => Pick<Conversations, 'submit' | 'findSession' | 'historyBack' | 'queue'>
  approvals: Pick<Approvals, 'pending'>
  onChange: SessionLog['onChange']
  clock: Clock
}) {
  const { conversations, approvals, onChange, clock } = dependencies
  /** How many calls wait for the sub-agent at the moment; they report its questions and its end themselves. */
  const waiters = new Map<string, number>()
  const changes = createWakeups()

  async function asksOf({ spawn: { userId }, sessionId }: Waiting): Promise<(AskedApproval & { expiresAt: number })[]> {
    const pending = await approvals.pending(userId, sessionId)
    return pending.map((approval) => ({
      ...askOf(approval),
      expiresAt: Number(approval.expiresAt),
    }))
  }

  const readNewest = async ({ userId }: Spawn, sessionId: string) =>
    await conversations().historyBack(userId, sessionId, { limit: newest })

  /** The end of its newest turn; undefined while a turn runs or a message waits for one. */
  async function endOf({ spawn, sessionId }: Waiting): Promise<Pick<TurnEnd, 'outcome' | 'text'> | undefined> {
    // In this order: a message leaves the queue in the commit that starts its turn.
    const queued = await conversations().queue(spawn.userId, sessionId)
    const last = (await readNewest(spawn, sessionId)).findLast(isBorder)
    return queued.length === 0 && last?.type === 'turn_ended' ? last : undefined
  }

  /** The conversation above and its newest events; undefined while a turn runs there: it may still wait for the sub-agent. */
  async function parentOf({ userId, parentSessionId }: Spawn) {
    const session = await conversations().findSession(userId, parentSessionId)
    if (session?.id !== parentSessionId || session.state !== 'active') return { session: undefined, events: [] }
    const events = await conversations().historyBack(userId, parentSessionId, { limit: newest })
    return events.findLast(isBorder)?.type === 'turn_started' ? undefined : { session, events }
  }

  /**
   * Tells the conversation above, once. False while a turn runs there. A call that waits there tells it by itself:
   * `whileAttended` is the result then.
   */
  async function tell(
    spawn: Spawn,
    message: {
      key: string
      text: string
      metadata: Record<string, string[]>
      whileAttended: boolean
      isUntrusted: boolean
    },
    isKnown: (events: readonly LoggedEvent[]) => boolean,
  ): Promise<boolean> {
    if ((waiters.get(spawn.id) ?? 0) > 0) return message.whileAttended
    const parent = await parentOf(spawn)
    if (!parent) return false
    const { session, events } = parent
    if (!session || isKnown(events)) return true
    const { key, text, metadata, isUntrusted } = message
    await conversations().submit({
      userId: spawn.userId,
      channel: session.channel,
      contact: session.contact,
      sender: 'familiar',
      source: reportSource,
      text,
      media: [],
      key,
      immediate: true,
      metadata: { ...metadata, spawn_id: spawn.id },
      label: isUntrusted ? 'untrusted' : 'internal',
    })
    return true
  }

  async function tellAsks({ spawn }: Waiting, asks: readonly AskedApproval[]): Promise<boolean> {
    const [first] = asks
    if (!first) return true
    const text = `Sub-agent ${spawn.id} waits for the user's approval.`
    const message = {
      key: `spawn:${spawn.id}:asks:${asks.map(({ id }) => id).join('+')}`,
      text,
      metadata: { asks: asks.map(({ id }) => id) },
      whileAttended: false,
      isUntrusted: false,
    }
    return await tell(spawn, message, (events) =>
      asks.every(({ id }) => events.some((event) => event.type === 'approval_asked' && event.approvalId === id)),
    )
  }

  return {
    asksOf: async (spawn: Spawn): Promise<AskedApproval[]> =>
      spawn.sessionId === null || spawn.result ? [] : await asksOf({ spawn, sessionId: spawn.sessionId }),
    /** While the returned function has not been called, a call reports what happens to the sub-agent. */
    attend(spawnId: string): () => void {
      const count = (by: number) => {
        waiters.set(spawnId, (waiters.get(spawnId) ?? 0) + by)
        if (waiters.get(spawnId) === 0) waiters.delete(spawnId)
        changes.wake(spawnId)
      }
      count(1)
      return () => count(-1)
    },
    /** Called at every pause and whenever something about the sub-agent has changed. */
    onChange: (spawnId: string, listener: () => void) => changes.on(spawnId, listener),
    wake: changes.wake,
    /**
     * Waits until every question of the sub-agent is answered or has expired, and returns its last end. `isStopped` is
     * read after every wake.
     */
    async settled(
      waiting: Waiting,
      first: Pick<TurnEnd, 'outcome' | 'text'>,
      { signal, isStopped }: { signal: AbortSignal; isStopped(): Promise<boolean> },
    ): Promise<{ end: Pick<TurnEnd, 'outcome' | 'text'>; hasAsked: boolean }> {
      const { spawn, sessionId } = waiting
      let told = ''
      let shown = ''
      let hasAsked = false
      let cancel = () => {}
      const follow = (wake: () => void) => {
        const unfollow = [onChange(sessionId, wake), onChange(spawn.parentSessionId, wake), changes.on(spawn.id, wake)]
        return () => {
          for (const stop of unfollow) stop()
        }
      }
      try {
        for await (const _ of rounds(signal, follow)) {
          if (await isStopped()) return { end: first, hasAsked }
          // First what can be answered: an answer is in the queue or in the log from the commit on that gives it.
          const asks = await asksOf(waiting)
          if (asks.length === 0) {
            const last = await endOf(waiting)
            if (last) return { end: last, hasAsked }
            continue
          }
          hasAsked = true
          const ids = asks.map(({ id }) => id).join('+')
          if (shown !== ids) {
            shown = ids
            // Those who wait for the sub-agent look again.
            changes.wake(spawn.id)
          }
          if (told !== ids && (await tellAsks(waiting, asks))) told = ids
          cancel()
          const until = Math.min(...asks.map(({ expiresAt }) => expiresAt)) - clock.now()
          cancel = clock.after(Math.max(0, until), () => changes.wake(spawn.id))
        }
      } finally {
        cancel()
      }
      throw signal.reason
    },
    /** Reports the end of a sub-agent that had asked, where no call waits for it. Resolves when that is settled. */
    async reported(
      { spawn, sessionId }: Waiting,
      result: { text: string; isUntrusted: boolean },
      signal: AbortSignal,
    ): Promise<void> {
      const follow = (wake: () => void) => {
        const unfollow = [onChange(spawn.parentSessionId, wake), changes.on(spawn.id, wake)]
        return () => {
          for (const stop of unfollow) stop()
        }
      }
      const asked = (await readNewest(spawn, sessionId)).flatMap((event) =>
        event.type === 'tool_finished' && event.approvalId !== undefined ? [event.approvalId] : [],
      )
      const text = `Sub-agent ${spawn.id} has ended. ${result.text}`
      const message = {
        key: `spawn:${spawn.id}:end`,
        text,
        metadata: { settles: asked },
        whileAttended: true,
        isUntrusted: result.isUntrusted,
      }
      for await (const _ of rounds(signal, follow)) if (await tell(spawn, message, () => false)) return
      throw signal.reason
    },
  }
}

function isBorder({ type }: LoggedEvent): boolean {
  return type === 'turn_started' || type === 'turn_ended'
}
