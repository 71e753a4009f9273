import type { Work } from '../../base/work-context.ts'
import { errorType } from '../../monitor/telemetry/attributes.ts'
import type { Span, Telemetry } from '../../monitor/telemetry/telemetry.ts'
import { HeldElsewhere } from '../../sessions/session-holders.ts'
import { isWorkChannel } from '../../sessions/work-channels.ts'
import type { TurnEnd } from '../conversations.ts'
import type { TurnRun } from '../turn-run.ts'
import { type EndedTurn, TurnSuspended, type Turns } from '../turns.ts'
import type { MessageOrigins } from './message-origins.ts'

/**
 * The same turns: everything that happens in one, in whatever part of the program, knows which it belongs to, and how long it
 * took and how it ended is told. A turn that a stop interrupts is two spans, and ends once.
 */
export function watchTurns(turns: Turns, telemetry: Telemetry, origins: MessageOrigins): Turns {
  async function measured(run: TurnRun, span: Span, task: () => Promise<EndedTurn | undefined>) {
    const startedAt = performance.now()
    const agent = { 'gen_ai.agent.name': agentOf(run) }
    const record = (failure: string | undefined) => {
      if (failure !== undefined) span.fail(failure)
      const labels = failure === undefined ? agent : { ...agent, 'error.type': failure }
      telemetry.record('gen_ai.invoke_agent.duration', labels, (performance.now() - startedAt) / 1_000)
    }
    try {
      const ended = await task()
      if (ended) {
        span.set(toldOf(ended.end))
        record(failureOf(ended.end))
        telemetry.add('familiar.turns', { ...agent, 'familiar.turn.outcome': ended.end.outcome })
      }
      return ended
    } catch (cause) {
      // It goes on elsewhere or after the next start, and ends there.
      const goesOn = cause instanceof TurnSuspended || cause instanceof HeldElsewhere
      if (!goesOn) record(errorType(cause))
      throw cause
    }
  }

  function watch(run: TurnRun, origin: Work, task: () => Promise<EndedTurn | undefined>) {
    const { session, turnId } = run
    const agent = agentOf(run)
    const attributes = {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': agent,
      'gen_ai.conversation.id': session.id,
      'familiar.turn.id': turnId,
      ...(origin.request !== undefined && { 'familiar.request.id': origin.request }),
    }
    return telemetry.work.apart({ ...origin, session: session.id, turn: turnId }, () =>
      telemetry.inSpan({ operation: 'invoke_agent', target: agent, kind: 'internal', attributes }, (span) =>
        measured(run, span, task),
      ),
    )
  }

  return {
    start: (run, messages, draft) =>
      watch(run, origins.take(messages.map(({ id }) => id)), () => turns.start(run, messages, draft)),
    resume: (run) => watch(run, {}, () => turns.resume(run)),
    fail: (run, text) => watch(run, {}, () => turns.fail(run, text)),
  }
}

/** Who answers, of the few that there are; what its user calls it is theirs. */
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
