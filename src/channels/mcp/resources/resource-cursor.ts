import { FamiliarError } from '../../../protocol/error.ts'

/** Where a page of the list of resources begins: after which block, session or memory. */
export type ResourceCursor =
  | { kind: 'blocks'; after: string }
  | { kind: 'sessions'; after: number }
  | { kind: 'memories'; before: { createdAt: number; id: string } | undefined }

/** One text without a meaning to whoever carries it back. */
export function writeCursor(cursor: ResourceCursor): string {
  return Buffer.from(textOf(cursor)).toString('base64url')
}

export function readCursor(written: string | undefined): ResourceCursor {
  if (written === undefined) return { kind: 'blocks', after: '' }
  const text = Buffer.from(written.slice(0, 1_000), 'base64url').toString('utf8')
  const [, kind, rest = ''] = /^([bsm]):(.*)$/s.exec(text) ?? []
  if (kind === 'b') return { kind: 'blocks', after: rest }
  if (kind === 's' && /^\d{1,9}$/.test(rest)) return { kind: 'sessions', after: Number(rest) }
  if (kind === 'm' && rest === '') return { kind: 'memories', before: undefined }
  const [, createdAt, id] = /^(-?\d{1,16}):(.{1,200})$/.exec(kind === 'm' ? rest : '') ?? []
  if (createdAt === undefined || id === undefined) {
    throw new FamiliarError('bad_request', 'cursor: must be the nextCursor of a page before')
  }
  return { kind: 'memories', before: { createdAt: Number(createdAt), id } }
}

function textOf(cursor: ResourceCursor): string {
  if (cursor.kind === 'blocks') return `b:${cursor.after}`
  if (cursor.kind === 'sessions') return `s:${cursor.after}`
  return cursor.before ? `m:${cursor.before.createdAt}:${cursor.before.id}` : 'm:'
}
