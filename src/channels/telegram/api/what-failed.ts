import { EgressError } from '../../../egress/egress-error.ts'

/** Before these nothing of the request has left: no address, no connection, no encryption. */
const beforeSending =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|UND_ERR_CONNECT_|CERT_|ERR_TLS_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/

/** Whether a request that failed may have been heard. In doubt it may. */
export function whatFailed(error: unknown): { kind: 'unreached' | 'unknown'; reason: string } {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof EgressError && current.code.startsWith('blocked')) {
      return { kind: 'unreached', reason: current.message }
    }
    const code = 'code' in current && typeof current.code === 'string' ? current.code : ''
    if (beforeSending.test(code)) return { kind: 'unreached', reason: `no connection (${code})` }
    if (!(current.cause instanceof Error)) return { kind: 'unknown', reason: code || current.message }
  }
  return { kind: 'unknown', reason: 'the connection broke' }
}
