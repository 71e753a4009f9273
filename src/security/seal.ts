import { createHmac, timingSafeEqual } from 'node:crypto'
import { canonicalJson } from '../base/json.ts'
import type { Json } from '../protocol/messages.ts'

/** A program that can write the row but does not have the key cannot make this. */
export function sealOf(bound: Json, key: Uint8Array): string {
  return createHmac('sha256', key).update(canonicalJson(bound)).digest('hex')
}

export function sealsMatch(bound: Json, seal: string, key: Uint8Array): boolean {
  const expected = Buffer.from(sealOf(bound, key))
  const found = Buffer.from(seal)
  return expected.length === found.length && timingSafeEqual(expected, found)
}
