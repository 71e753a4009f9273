import { approvalQuestion, waitsForApproval } from '../policy/approval-texts.ts'
import type { Approvals } from '../policy/approvals.ts'
import { judgeCall, type Seen } from '../policy/gate.ts'
import { isAutomated } from '../policy/own-words.ts'
import type { ToolCallPart } from '../protocol/message.ts'
import type { SessionEvent } from '../sessions/session-event.ts'
import type { Writer } from '../storage/database.ts'
import type { ToolView } from '../tools/registry.ts'
import type { Tool, ToolReach } from '../tools/tool.ts'
import type { CallRecords, MadeCall } from './call-records.ts'
import { noSuchTool } from './run-tool.ts'
import { toolFinished } from './turn-events.ts'

interface CallsToBegin {
  userId: string
  sessionId: string
  turnId: string
  source: string
  userText: string
  /** What was in sight when the model made the calls. */
  seen: Seen
  calls: readonly ToolCallPart[]
  /** Those that the session has. */
  tools: ToolView
  /** Nobody there would hear a question: what needs the user's word is refused. */
  cannotAsk: boolean
}

export interface BegunCalls {
  /** To be appended in the same unit: each call as begun, or with the reason why it is not. */
  events: SessionEvent[]
  begun: ToolCallPart[]
}

/**
 * The only way in which a call begins (SEC-6). One that needs the user's word uses it up in the unit that writes the
 * call as begun; without it the call is over, and the user is asked. One that does not begin keeps no other from it.
 */
export type BeginCalls = (writer: Writer, turn: CallsToBegin) => Promise<BegunCalls>

export function createBeginCalls(dependencies: {
  approvals: Approvals
  /** `policy.destinations` of the config. */
  destinations: () => readonly string[]
  records: CallRecords
}): BeginCalls {
  const { approvals, destinations, records } = dependencies

  return async (writer, turn) => {
    const events: SessionEvent[] = []
    const begun: ToolCallPart[] = []
    for (const call of turn.calls) {
      const tool = turn.tools.find(call.name)
      const event = tool ? await beginOrAsk(writer, turn, call, tool) : await missing(writer, turn, call)
      events.push(event)
      if (event.type === 'tool_started') begun.push(call)
    }
    return { events, begun }
  }

  /** Over at once: were it begun, and the tool there after a restart, it would run without having passed here. */
  async function missing(writer: Writer, turn: CallsToBegin, call: ToolCallPart): Promise<SessionEvent> {
    const outcome = noSuchTool(call)
    await records.finishedIn(writer, madeCall(turn, call), outcome, 0)
    return toolFinished(call, outcome)
  }

  async function beginOrAsk(writer: Writer, turn: CallsToBegin, call: ToolCallPart, tool: Tool): Promise<SessionEvent> {
    const { userId, sessionId, turnId, source, seen } = turn
    const { id: callId, name, input } = call
    const reach = reachOf(tool, call)
    const guarded = { userId, sessionId, tool: tool.definition.name, arguments: input, destination: reach.destination }
    const verdict = judgeCall({ seen, reach, destinations: destinations() })
    if (verdict.allowed || (await approvals.use(writer, guarded))) {
      const { effect, isClients } = tool
      await tool.beginIn?.(writer, { userId, sessionId, turnId, callId, input })
      return { type: 'tool_started', callId, name, input, effect, ...(isClients && { isClients }) }
    }
    const { reason } = verdict
    if (turn.cannotAsk) {
      await records.refusedIn(writer, madeCall(turn, call), reason)
      return toolFinished(call, { text: `${reason} ${cannotBeAsked}`, isError: true })
    }
    const approval = await approvals.ask(writer, { ...guarded, turnId, callId, reason, isPatient: isAutomated(source) })
    await records.refusedIn(writer, madeCall(turn, call), reason)
    const told = { text: waitsForApproval, isError: true, question: approvalQuestion(approval) }
    return { type: 'tool_finished', callId, name, ...told, approvalId: approval.id }
  }
}

const cannotBeAsked =
  'It needs the word of the user, who cannot be asked from here: leave it, and say so in your answer.'

/** A tool that cannot say what it would do may do anything. */
function reachOf(tool: Tool, call: ToolCallPart): ToolReach {
  try {
    return tool.reach(call.input)
  } catch {
    return { kind: 'asks', destination: null }
  }
}

function madeCall({ userId, sessionId, turnId, userText }: CallsToBegin, call: ToolCallPart): MadeCall {
  return { userId, sessionId, turnId, userText, call }
}
