import { createHmac } from 'node:crypto'

/**
 * What proves that whoever sent a request knows the secret, in both directions: HMAC-SHA256 over `timestamp.nonce.body`.
 * The timestamp is digits and the nonce has no dot in it, or the end of one and the beginning of the next could be moved.
 */
export function signRequest(
  secret: string,
  request: { timestamp: string; nonce: string; body: string | Uint8Array },
): Buffer {
  return createHmac('sha256', secret).update(`${request.timestamp}.${request.nonce}.`).update(request.body).digest()
}
