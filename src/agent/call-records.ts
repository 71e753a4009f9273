import type { ProceduralMemory } from '../memory/procedural.ts'
import type { ToolCallPart } from '../protocol/message.ts'
import type { Writer } from '../storage/database.ts'
import type { ToolRegistry } from '../tools/registry.ts'
import type { ToolOutcome } from '../tools/tool.ts'
import type { AuditedCall, ToolAudit } from '../tools/tool-audit.ts'

/** Which call, made for whom. */
export interface MadeCall {
  userId: string
  sessionId: string
  turnId: string
  userText: string
  call: ToolCallPart
}

/** What is kept of a call beside its result: that it was made (TOOL-11), and how well its tool served (MEM-13). */
export interface CallRecords {
  finishedIn(writer: Writer, made: MadeCall, result: ToolOutcome, durationMs: number): Promise<void>
  /** It was begun, and nobody knows or waits for what came of it. */
  abandonedIn(writer: Writer, made: MadeCall, error: string): Promise<void>
  /** It was not made: the user's word for it is missing. */
  refusedIn(writer: Writer, made: MadeCall, reason: string): Promise<void>
}

export function createCallRecords(dependencies: {
  tools: ToolRegistry
  procedural: ProceduralMemory
  audit: Pick<ToolAudit, 'recordIn'>
}): CallRecords {
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
    async finishedIn(writer, made, result, durationMs) {
      const outcome = outcomeOf(result)
      const error = result.isError ? result.text : null
      await recordIn(writer, made, { outcome, durationMs, error, ...result.ran })
      const tool = tools.viewOf(made.userId).find(made.call.name)
      // A question is no outcome yet; core tools are not searched for.
      if (!tool || tool.core || result.question) return
      const { userId, userText } = made
      await procedural.recordIn(writer, { userId, tool: tool.definition.name, userText, outcome })
    },
    abandonedIn: (writer, made, error) => recordIn(writer, made, { outcome: 'failed', durationMs: 0, error }),
    refusedIn: (writer, made, error) => recordIn(writer, made, { outcome: 'refused', durationMs: 0, error }),
  }
}

function outcomeOf({ isError, timedOut, serviceFailed }: ToolOutcome) {
  if (!isError) return 'succeeded'
  if (timedOut) return 'timed_out'
  return serviceFailed ? 'service_failed' : 'failed'
}
