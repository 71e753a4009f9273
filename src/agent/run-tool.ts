import { toStorableText, truncateText } from '../base/text.ts'
import type { ToolCallPart } from '../protocol/message.ts'
import type { ToolView } from '../tools/registry.ts'
import { CallSuspended, type Tool, type ToolContext, type ToolOutcome } from '../tools/tool.ts'

const maxResultCharacters = 30_000

/** Runs one call to its outcome. Whatever goes wrong is an error outcome for the model; only an end of the work throws. */
export async function runTool(registry: ToolView, call: ToolCallPart, context: ToolContext): Promise<ToolOutcome> {
  const tool = registry.find(call.name)
  if (!tool) return noSuchTool(call)
  const outcome = await Promise.race([attempt(tool, call, context), rejectOnAbort(context.signal)])
  return { ...outcome, text: truncateText(toStorableText(outcome.text), maxResultCharacters) }
}

async function attempt(tool: Tool, call: ToolCallPart, context: ToolContext): Promise<ToolOutcome> {
  try {
    return await tool.run(call.input, context)
  } catch (cause) {
    context.signal.throwIfAborted()
    if (cause instanceof CallSuspended) throw cause
    return failure(`${call.name} failed: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
}

export function noSuchTool({ name }: ToolCallPart): ToolOutcome {
  return failure(`There is no tool named ${name}. find_tools shows what there is.`)
}

/** A tool that does not listen to its signal must not hold up a stop. */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

function failure(text: string): ToolOutcome {
  return { text, isError: true }
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
