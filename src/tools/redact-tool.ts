import { redactJson } from '../secrets/redact-json.ts'
import type { Redactor } from '../secrets/redactor.ts'
import type { Tool } from './tool.ts'

/**
 * The same tool, whose outcome, progress and faults hold no secret. It has to be the first thing that happens to them: a
 * secret that was cut in two by a limit on length is found by nobody after that.
 */
export function redactTool(tool: Tool, redactor: Pick<Redactor, 'redact'>): Tool {
  return {
    ...tool,
    async run(input, context) {
      const progress: typeof context.progress = (data) => context.progress(redactJson(redactor, data))
      try {
        return redactJson(redactor, await tool.run(input, { ...context, progress }))
      } catch (cause) {
        throw redactError(redactor, cause)
      }
    },
  }
}

function redactError(redactor: Pick<Redactor, 'redact'>, cause: unknown): unknown {
  const message = cause instanceof Error ? cause.message : String(cause)
  const redacted = redactor.redact(message)
  return redacted === message ? cause : new Error(redacted)
}
