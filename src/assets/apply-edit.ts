import { type AssetFailure, failure } from './asset-failure.ts'

export interface TextEdit {
  old: string
  new: string
  /** Everywhere that `old` occurs; otherwise it must occur once. */
  all?: boolean | undefined
}

/** The text with one passage replaced by another, exactly as they are given. */
export function applyEdit(
  text: string,
  edit: TextEdit,
  path: string,
): { ok: true; text: string; count: number } | AssetFailure {
  if (edit.old === '') return failure('empty_old', 'old is empty: there is nothing to replace.')
  if (edit.old === edit.new) return failure('same', 'old and new are the same: nothing would change.')
  // Half of a character is in no text, though it would be found in the middle of one.
  const pieces = edit.old.isWellFormed() ? text.split(edit.old) : [text]
  const count = pieces.length - 1
  if (count === 0) return failure('absent', `old does not occur in ${path}.${nearMiss(text, edit.old)}`)
  if (count > 1 && !edit.all) {
    const message = `old occurs ${count} times in ${path}. Give more of the text around it, or all: true.`
    return failure('ambiguous', message, { count })
  }
  return { ok: true, text: pieces.join(edit.new), count }
}

/** The two ways in which people and models most often miss it. */
function nearMiss(text: string, old: string): string {
  if (text.replaceAll('\r\n', '\n').includes(old.replaceAll('\r\n', '\n'))) {
    return ' It does with other line ends (\\r\\n).'
  }
  const squeeze = (words: string) => words.replaceAll(/\s+/g, ' ').trim()
  const squeezed = squeeze(old)
  return squeezed !== '' && squeeze(text).includes(squeezed) ? ' It does with other white space.' : ''
}
