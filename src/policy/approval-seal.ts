import { createHmac, timingSafeEqual } from 'node:crypto'
import { canonicalJson } from '../base/json.ts'
import type { ApprovalRow } from '../storage/tables.ts'

/** All that the word is given for, and how it stands. */
type Sealed = Pick<
  ApprovalRow,
  'id' | 'user_id' | 'session_id' | 'tool' | 'arguments' | 'destination' | 'state' | 'expires_at'
>

/** What nobody can make who can write the row and does not hold the key. */
export function sealOf(row: Sealed, key: Uint8Array): string {
  const { id, user_id, session_id, tool, arguments: given, destination, state, expires_at } = row
  const bound = ['approval', id, user_id, session_id, tool, given, destination, state, Number(expires_at)]
  return createHmac('sha256', key).update(canonicalJson(bound)).digest('hex')
}

export function isSealed(row: Sealed & { seal: string }, key: Uint8Array): boolean {
  const expected = Buffer.from(sealOf(row, key))
  const found = Buffer.from(row.seal)
  return expected.length === found.length && timingSafeEqual(expected, found)
}
