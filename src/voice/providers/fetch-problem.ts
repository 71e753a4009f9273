import { EgressError } from '../../egress/egress-error.ts'

/** Why a guarded fetch failed, in words for the user. Rethrows where the work was stopped. */
export function fetchProblem(
  error: unknown,
  { host, signal }: { host: string; signal: AbortSignal },
): { reason: string; fault: 'service' | 'timeout' | null } {
  signal.throwIfAborted()
  if (!(error instanceof EgressError)) {
    return { reason: `${host} could not be reached (${codeOf(error)}).`, fault: 'service' }
  }
  if (error.code !== 'timeout') return { reason: `${error.message}.`, fault: null }
  return { reason: `${host} did not answer in time.`, fault: 'timeout' }
}

/** `fetch` says only that it failed; the cause behind it says why. */
function codeOf(error: unknown): string {
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current && typeof current.code === 'string') return current.code
  }
  return error instanceof Error ? error.name : 'unknown'
}
