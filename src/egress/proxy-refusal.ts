import { EgressError } from './egress-error.ts'

/** An answer of the proxy itself, in words that can be shown to whoever wonders why. */
export interface ProxyRefusal {
  status: number
  text: string
}

/** Why the target was not reached: by the rules, or because the network could not. */
export function refusalFor(cause: unknown, target: URL): ProxyRefusal {
  const { host } = target
  if (!(cause instanceof EgressError)) {
    const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
    return { status: 502, text: `${host} could not be reached${code}.` }
  }
  if (cause.code === 'timeout') return { status: 504, text: `${host} did not answer in time.` }
  return { status: 403, text: `${cause.message}.` }
}
