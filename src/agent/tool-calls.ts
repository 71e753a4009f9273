import { type Language, languageOfTag } from '../base/languages.ts'
import { reasonOf, toStorableText, truncateText } from '../base/text.ts'
import { untilAborted } from '../base/work.ts'
import type { ProceduralMemory } from '../memory/episodes.ts'
import type { ToolCallPart } from '../protocol/messages.ts'
import type { PolicyMode } from '../protocol/permissions.ts'
import { approvalQuestion, approvalView, waitsForApproval } from '../security/approval-texts.ts'
import { type Approvals, approvalSource, isAutomated } from '../security/approvals.ts'
import { type Grants, judgeCall, type Reach, type Seen } from '../security/permissions.ts'
import type { Database, Writer } from '../storage/database.ts'
import type { AuditedCall, ToolAudit, ToolRegistry, ToolView } from '../tools/registry.ts'
import { CallSuspended, type Tool, type ToolContext, type ToolOutcome } from '../tools/tool.ts'
import { toolFinished } from './event-stream.ts'
import type { SessionEvent } from './sessions/session-event.ts'

const maxResultCharacters = 30_000

/** Runs one call to its outcome. Any failure is an error outcome for the model; only the end of the work throws. */
export async function runToolCall(registry: ToolView, call: ToolCallPart, context: ToolContext): Promise<ToolOutcome> {
  const tool = registry.find(call.name)
  if (!tool) return noSuchTool(call)
  // A tool that does not listen to its signal must not hold up a stop.
  const outcome = await untilAborted(attempt(tool, call, context), context.signal)
  return { ...outcome, text: truncateText(toStorableText(outcome.text), maxResultCharacters) }
}

async function attempt(tool: Tool, call: ToolCallPart, context: ToolContext): Promise<ToolOutcome> {
  try {
    return await tool.run(call.input, context)
  } catch (cause) {
    context.signal.throwIfAborted()
    if (cause instanceof CallSuspended) throw cause
    return { text: `${call.name} failed: ${reasonOf(cause)}`, isError: true }
  }
}

function noSuchTool({ name }: ToolCallPart): ToolOutcome {
  return { text: `There is no tool named ${name}. find_tools lists the tools.`, isError: true }
}

/** Calls that may run side by side, in order; one that touches shared state stands alone. */
export function nextBatch(registry: ToolView, calls: readonly ToolCallPart[]): ToolCallPart[] {
  const isSerial = (call: ToolCallPart) => registry.find(call.name)?.serial === true
  const first = calls[0]
  if (!first) return []
  if (isSerial(first)) return [first]
  const firstSerial = calls.findIndex(isSerial)
  return firstSerial === -1 ? [...calls] : calls.slice(0, firstSerial)
}

interface CallsToBegin extends Omit<MadeCall, 'call'> {
  source: string
  answers: string | null
  /** The kinds of content in sight when the model made the calls. */
  seen: Seen
  calls: readonly ToolCallPart[]
  tools: ToolView
  /** Whether the conversation holds this address from a source other than the model. */
  isKnown(address: string): boolean
  /** The mode of the conversation. */
  mode: PolicyMode
  /** Of the user's own words in the conversation. */
  language(): Language
  /** The session, and for a sub-agent those above it: a grant in one of them counts. */
  grantedIn: readonly string[]
}

export type BeginCalls = ReturnType<typeof createBeginCalls>

/**
 * The only way in which a call starts (SEC-6). A call that needs approval uses the approval up in the unit that records
 * its start; without one the call ends and the user is asked. A call that does not start does not hold up the others.
 */
export function createBeginCalls(dependencies: {
  approvals: Approvals
  grants: Pick<Grants, 'covers'>
  /** Open to every tool. */
  destinations: () => readonly string[]
  records: CallRecords
  /** The locale that the user's client reported last. */
  localeIn(reader: Writer, userId: string): Promise<string | null>
}) {
  const { approvals, grants, destinations, records, localeIn } = dependencies

  return async (writer: Writer, turn: CallsToBegin) => {
    /** To append in the same unit: each call as started, or with the reason why it was not. */
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

  /** It ends at once: if it were recorded as started and the tool existed after a restart, it would run unchecked. */
  async function missing(writer: Writer, turn: CallsToBegin, call: ToolCallPart): Promise<SessionEvent> {
    const outcome = noSuchTool(call)
    await records.finishedIn(writer, madeCall(turn, call), outcome, 0)
    return toolFinished(call, outcome)
  }

  async function beginOrAsk(writer: Writer, turn: CallsToBegin, call: ToolCallPart, tool: Tool): Promise<SessionEvent> {
    const { userId, sessionId, turnId, source, seen } = turn
    const { id: callId, name, input } = call
    const hasUser = !isAutomated(source) || source === approvalSource
    tool.hears?.({ userId, sessionId, turnId, callId, input, userText: turn.userText, answers: turn.answers, hasUser })
    const reach = reachOf(tool, call)
    const guarded = { userId, sessionId, tool: tool.definition.name, arguments: input, destination: reach.destination }
    const declared = reach.destination === null ? [] : destinations()
    const verdict = judgeCall({ mode: turn.mode, destinations: declared, seen, reach, isKnown: turn.isKnown })
    const covered = { userId, sessionIds: turn.grantedIn, tool: guarded.tool, reach }
    if (verdict.allowed || (await grants.covers(writer, covered)) || (await approvals.use(writer, guarded))) {
      const { effect, isClients } = tool
      await tool.beginIn?.(writer, { userId, sessionId, turnId, callId, input })
      return { type: 'tool_started', callId, name, input, effect, ...(isClients && { isClients }) }
    }
    const { reason } = verdict
    // The language of the user's client, if it says one.
    const language = languageOfTag(await localeIn(writer, userId)) ?? turn.language()
    const approval = await approvals.ask(writer, {
      ...guarded,
      reach,
      turnId,
      callId,
      reason,
      language,
      isPatient: isAutomated(source),
    })
    await records.refusedIn(writer, madeCall(turn, call), reason)
    const told = { text: waitsForApproval, isError: true, question: approvalQuestion(approval) }
    return { type: 'tool_finished', callId, name, ...told, approvalId: approval.id, approval: approvalView(approval) }
  }
}

function madeCall({ userId, sessionId, turnId, userText }: CallsToBegin, call: ToolCallPart): MadeCall {
  return { userId, sessionId, turnId, userText, call }
}

/**
 * Whether a started call may follow a redirect (SEC-6d). Data that could be sent to the first address must not
 * reach another one without an approval, unless the first carried nothing new: then the redirect does not either.
 */
export function createRedirectRule(dependencies: {
  database: Pick<Database, 'write'>
  grants: Pick<Grants, 'covers'>
  destinations: () => readonly string[]
}) {
  const { database, grants, destinations } = dependencies

  return async (
    turn: Pick<CallsToBegin, 'userId' | 'mode' | 'seen' | 'isKnown' | 'grantedIn' | 'tools'>,
    call: ToolCallPart,
    target: URL,
  ): Promise<boolean> => {
    const tool = turn.tools.find(call.name)
    if (!tool) return false
    const { reads, destination } = reachOf(tool, call)
    const asked = { mode: turn.mode, destinations: destinations(), seen: turn.seen, isKnown: turn.isKnown }
    const isFree = (reach: Reach) => judgeCall({ ...asked, reach }).allowed
    if (isFree({ kind: 'reach', destination: null, ...(reads !== undefined && { reads }) })) return true
    if (target.origin === destination || isUpgrade(destination, target)) return true
    const reach: Reach = { kind: 'reach', destination: target.origin, reads: target.href }
    if (isFree(reach)) return true
    const { userId, grantedIn: sessionIds } = turn
    return await database.write((writer) =>
      grants.covers(writer, { userId, sessionIds, tool: tool.definition.name, reach }),
    )
  }
}

export type RedirectRule = ReturnType<typeof createRedirectRule>

/** The same host, encrypted: no one else reads what is sent there. */
function isUpgrade(destination: string | null, target: URL): boolean {
  const from = destination === null ? null : URL.parse(destination)
  return from?.protocol === 'http:' && target.protocol === 'https:' && from.host === target.host
}

/** A tool that cannot say what it would do may do anything. */
function reachOf(tool: Tool, call: ToolCallPart): Reach {
  try {
    return tool.reach(call.input)
  } catch {
    return { kind: 'host', destination: null }
  }
}

export interface MadeCall {
  userId: string
  sessionId: string
  turnId: string
  userText: string
  call: ToolCallPart
}

export type CallRecords = ReturnType<typeof createCallRecords>

/** Records beside the result of a call: the audit entry (TOOL-11) and the success of the tool (MEM-13). */
export function createCallRecords(dependencies: {
  tools: ToolRegistry
  procedural: ProceduralMemory
  audit: Pick<ToolAudit, 'recordIn'>
}) {
  const { tools, procedural, audit } = dependencies

  async function recordIn(
    writer: Writer,
    { call, ...made }: MadeCall,
    outcome: Pick<AuditedCall, 'outcome' | 'durationMs' | 'error' | 'driver' | 'budgetRemaining'>,
  ): Promise<void> {
    const tool = tools.viewOf(made.userId).find(call.name)?.definition.name ?? call.name
    await audit.recordIn(writer, { ...made, ...outcome, tool, caller: 'turn', callId: call.id })
  }

  return {
    async finishedIn(writer: Writer, made: MadeCall, result: ToolOutcome, durationMs: number) {
      const outcome = outcomeOf(result)
      const error = result.isError ? result.text : null
      await recordIn(writer, made, { outcome, durationMs, error, ...result.ran })
      const tool = tools.viewOf(made.userId).find(made.call.name)
      // A question is no outcome yet; core tools are not searched for.
      if (!tool || tool.core || result.question) return
      const { userId, userText } = made
      await procedural.recordIn(writer, { userId, tool: tool.definition.name, userText, outcome })
    },
    /** It was started, and its outcome is unknown or no longer awaited. */
    abandonedIn: (writer: Writer, made: MadeCall, error: string) =>
      recordIn(writer, made, { outcome: 'failed', durationMs: 0, error }),
    /** It was not made, because its approval is missing. */
    refusedIn: (writer: Writer, made: MadeCall, error: string) =>
      recordIn(writer, made, { outcome: 'refused', durationMs: 0, error }),
  }
}

function outcomeOf({ isError, timedOut, serviceFailed }: ToolOutcome) {
  if (!isError) return 'succeeded'
  if (timedOut) return 'timed_out'
  return serviceFailed ? 'service_failed' : 'failed'
}
