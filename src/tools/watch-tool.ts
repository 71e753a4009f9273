import { errorType } from '../monitor/telemetry/attributes.ts'
import type { Telemetry } from '../monitor/telemetry/telemetry.ts'
import { CallSuspended, type Tool, type ToolOutcome } from './tool.ts'

/** The same tool, with how long its calls take and how they end. */
export function watchTool(tool: Tool, telemetry: Telemetry): Tool {
  const name = { 'gen_ai.tool.name': toldName(tool) }
  const start = {
    operation: 'execute_tool',
    target: name['gen_ai.tool.name'],
    kind: 'internal',
    attributes: { 'gen_ai.operation.name': 'execute_tool', ...name },
  } as const

  return {
    ...tool,
    run: (input, context) =>
      telemetry.inSpan(start, async (span) => {
        const startedAt = performance.now()
        const record = (failure: string | undefined) => {
          if (failure !== undefined) span.fail(failure)
          const labels = failure === undefined ? name : { ...name, 'error.type': failure }
          telemetry.record('gen_ai.execute_tool.duration', labels, (performance.now() - startedAt) / 1_000)
        }
        try {
          const outcome = await tool.run(input, context)
          record(failureOf(outcome))
          return outcome
        } catch (cause) {
          // It goes on after the next start, and is counted then.
          if (!(cause instanceof CallSuspended)) record(context.signal.aborted ? 'aborted' : errorType(cause))
          throw cause
        }
      }),
  }
}

/** Tools that clients bring and those that were made for one user's wish are told by their kind: their names are somebody's words. */
function toldName({ definition, isClients }: Tool): string {
  if (isClients) return 'client'
  return definition.name.startsWith('cap_') ? 'capability' : definition.name
}

function failureOf({ isError, timedOut, serviceFailed }: ToolOutcome): string | undefined {
  if (!isError) return undefined
  if (timedOut) return 'timeout'
  return serviceFailed ? 'service' : 'tool'
}
