import { errorType } from '../base/telemetry/metrics.ts'
import { type Telemetry, timed } from '../base/telemetry/telemetry.ts'
import type { Work, WorkContext } from '../base/work.ts'
import { isWorkChannel } from '../protocol/messages.ts'
import type { RecallForTurn } from './context.ts'
import type { TurnEnd } from './conversations.ts'
import { HeldElsewhere } from './coordination.ts'
import type { Inbox } from './sessions/inbox.ts'
import { type EndedTurn, type TurnRun, TurnSuspended, type Turns } from './turn.ts'

/**
 * The same turns, each in a span: everything that happens in a turn belongs to it, and its duration and outcome are
 * counted. A turn that a stop interrupts is two spans, and is counted once.
 */
export function watchTurns(turns: Turns, telemetry: Telemetry, origins: MessageOrigins): Turns {
  function watch(run: TurnRun, origin: Work, task: () => Promise<EndedTurn | undefined>) {
    const { session, turnId } = run
    const labels = { 'gen_ai.agent.name': agentOf(run) }
    const measured = {
      operation: 'invoke_agent',
      target: agentOf(run),
      kind: 'internal',
      attributes: {
        'gen_ai.operation.name': 'invoke_agent',
        ...labels,
        'gen_ai.conversation.id': session.id,
        'familiar.turn.id': turnId,
        ...(origin.request !== undefined && { 'familiar.request.id': origin.request }),
      },
      metric: 'gen_ai.invoke_agent.duration',
      labels,
      failureOf: (ended: EndedTurn | undefined) => (ended ? failureOf(ended.end) : null),
      // A suspended turn continues at another daemon or after the next start, and ends there.
      errorOf: (cause: unknown) =>
        cause instanceof TurnSuspended || cause instanceof HeldElsewhere ? null : errorType(cause),
    } as const
    return telemetry.work.apart({ ...origin, session: session.id, turn: turnId }, () =>
      timed(telemetry, measured, async (span) => {
        const ended = await task()
        if (ended) {
          span.set(toldOf(ended.end))
          telemetry.add('familiar.turns', { ...labels, 'familiar.turn.outcome': ended.end.outcome })
        }
        return ended
      }),
    )
  }

  return {
    start: (run, messages, draft) =>
      watch(run, origins.take(messages.map(({ id }) => id)), () => turns.start(run, messages, draft)),
    resume: (run) => watch(run, {}, () => turns.resume(run)),
    fail: (run, text) => watch(run, {}, () => turns.fail(run, text)),
  }
}

/** The same recall, with its duration and how much it found. */
export function watchRecall(recall: RecallForTurn, telemetry: Telemetry): RecallForTurn {
  const measured = {
    operation: 'search_memory',
    kind: 'internal',
    attributes: { 'gen_ai.operation.name': 'search_memory' },
    metric: 'familiar.recall.duration',
    labels: {},
  } as const
  return (query) =>
    timed(telemetry, measured, async (span) => {
      const recalled = await recall(query)
      span.set({ 'familiar.recall.memories': recalled.length })
      return recalled
    })
}

/** The kind of agent. The name that the user gave it is not recorded. */
function agentOf({ session }: TurnRun): string {
  return isWorkChannel(session.channel) ? session.channel : 'familiar'
}

function toldOf({ outcome, rounds, toolCalls, usage }: TurnEnd) {
  return {
    'familiar.turn.outcome': outcome,
    'familiar.turn.rounds': rounds,
    'familiar.turn.tool_calls': toolCalls.length,
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
  }
}

function failureOf({ outcome, failure }: TurnEnd): string | undefined {
  return outcome === 'failed' ? (failure ?? 'internal') : undefined
}

const maxRemembered = 10_000

type MessageOrigins = ReturnType<typeof createMessageOrigins>

/** The request that brought a message, until its turn starts: the end of another turn may start it, which is not its origin. */
export function createMessageOrigins(work: WorkContext) {
  const origins = new Map<string, Work>()

  function remember(messageId: string): void {
    const { request, span } = work.current()
    if (request === undefined && span === undefined) return
    origins.set(messageId, { ...(request !== undefined && { request }), span })
    const [oldest] = origins.keys()
    if (origins.size > maxRemembered && oldest !== undefined) origins.delete(oldest)
  }

  return {
    /** The same inbox; the origin of every admitted message is remembered. */
    watch: (inbox: Inbox): Inbox => ({
      ...inbox,
      async admit(...message) {
        const admission = await inbox.admit(...message)
        if (admission.admitted) remember(admission.message.id)
        return admission
      },
      async admitIn(...message) {
        const admission = await inbox.admitIn(...message)
        if (admission.admitted) remember(admission.message.id)
        return admission
      },
      draft(...message) {
        const draft = inbox.draft(...message)
        remember(draft.id)
        return draft
      },
    }),
    /** The origin, once; empty where the message came through another process or long ago. */
    take(messageIds: readonly string[]): Work {
      const found = messageIds.map((id) => origins.get(id))
      for (const id of messageIds) origins.delete(id)
      return found.find((origin) => origin !== undefined) ?? {}
    },
  }
}
