import { type AssetFailure, failure } from './asset-failure.ts'

export interface AssetAddress {
  ok: true
  scheme: string
  /** What stands behind the scheme, or the plain path as it was given. */
  path: string
}

const mostCharacters = 4_096
// C0, DEL, C1, bidirectional and zero-width characters: a path that looks like another one is no path.
const unseen = /[\p{Cc}\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e01ef}]/u
const uri = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/is

/** `ikigai` is what this was called where it was first written down. */
const otherNames: Readonly<Record<string, string>> = { ikigai: 'familiar' }

/** `notes/x.md`, `/home/max/x.md`, `familiar:///blocks/x.md`: which backend it is for, and what that is told. */
export function parseAddress(text: string): AssetAddress | AssetFailure {
  if (text.trim() === '') return failure('invalid_path', 'The path is empty.')
  if (text.length > mostCharacters) return failure('invalid_path', 'The path is too long.')
  if (!text.isWellFormed() || unseen.test(text)) {
    return failure('invalid_path', 'The path has characters in it that nobody sees.')
  }
  const [, scheme, rest] = uri.exec(text) ?? []
  if (scheme === undefined || rest === undefined) return { ok: true, scheme: 'file', path: text }
  const lower = scheme.toLowerCase()
  if (lower === 'file') return failure('unknown_scheme', 'A file is named by its plain path, without file://.')
  return { ok: true, scheme: otherNames[lower] ?? lower, path: rest }
}
