import { randomBytes, timingSafeEqual } from 'node:crypto'
import { signRequest } from '../base/sign-request.ts'
import type { WebhookCall } from '../channels/http/webhook-call.ts'

/** Seconds that a sender's clock may be off, and that a request may take. */
export const mostSecondsOff = 300

/** Compared with where there is no secret, so that it takes as long. */
const nobodysSecret = randomBytes(32).toString('hex')

/** Whether whoever sent this knows the secret: its signature in hex. Takes as long for a tool that does not exist. */
export function isSignedWith(secret: string | undefined, call: WebhookCall): boolean {
  const { timestamp = '', nonce = '', signature = '', body } = call
  const expected = signRequest(secret ?? nobodysSecret, { timestamp, nonce, body })
  const isWritten = /^\d{1,12}$/.test(timestamp) && /^[\w-]{8,128}$/.test(nonce) && /^[0-9a-f]{64}$/i.test(signature)
  const given = isWritten ? Buffer.from(signature, 'hex') : Buffer.alloc(expected.length)
  return timingSafeEqual(given, expected) && isWritten && secret !== undefined
}
