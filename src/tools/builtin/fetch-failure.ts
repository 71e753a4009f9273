import { EgressError } from '../../egress/egress-error.ts'
import { failed } from '../define-tool.ts'
import type { ToolOutcome } from '../tool.ts'

/** What a tool answers where a guarded fetch threw. Rethrows where the turn was stopped. */
export function fetchFailure(error: unknown, host: string, signal: AbortSignal): ToolOutcome {
  signal.throwIfAborted()
  if (!(error instanceof EgressError)) {
    return { ...failed(`${host} could not be reached (${reasonOf(error)}).`), serviceFailed: true }
  }
  if (error.code !== 'timeout') return failed(`${error.message}.`)
  return { ...failed(`${host} did not answer in time.`), serviceFailed: true, timedOut: true }
}

/** `fetch` says only that it failed; the cause behind it says why. */
function reasonOf(error: unknown): string {
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current && typeof current.code === 'string') return current.code
  }
  return error instanceof Error ? error.name : 'unknown'
}
