import { type AssetFailure, failure } from '../asset-failure.ts'

const root = 'familiar:///blocks/'
const mostCharacters = 200
// A name begins with a letter or digit: nothing hidden, nothing that climbs.
const segment = /^[\p{L}\p{N}][\p{L}\p{N}\p{M}\p{Zs} ._-]*$/u
const extension = /\.[\p{L}\p{N}]{1,10}$/u

/**
 * The label of a block from what stands behind `familiar://`: `x`, `/x.md`, `//blocks/x.md` are all `x.md`. Slashes are
 * normalised and `.md` is implied. The same label always comes out of its own address.
 */
export function readBlockLabel(path: string): { ok: true; label: string } | AssetFailure {
  const folder = readBlockFolder(path)
  if (!folder.ok) return folder
  if (folder.prefix === '') return failure('invalid_path', `A block has a name, such as ${root}notes.md.`)
  const label = extension.test(folder.prefix) ? folder.prefix : `${folder.prefix}.md`
  return label.length <= mostCharacters ? { ok: true, label } : tooLong
}

/** The same for what several labels begin with; empty for all of them. */
export function readBlockFolder(path: string): { ok: true; prefix: string } | AssetFailure {
  const parts = path.normalize('NFC').replaceAll('\\', '/').split('/').filter(Boolean)
  if (parts[0] === 'blocks') parts.shift()
  const bad = parts.find((part) => !segment.test(part) || part.trim() !== part || part.endsWith('.'))
  if (bad !== undefined) {
    return failure('invalid_path', 'The names of blocks have letters, digits, spaces and . _ - in them, and no other.')
  }
  const prefix = parts.join('/')
  return prefix.length <= mostCharacters ? { ok: true, prefix } : tooLong
}

const tooLong = failure('invalid_path', `The name of a block has ${mostCharacters} characters at most.`)

export function blockUri(label: string): string {
  return `${root}${label}`
}
