const escaped = /\\([!-/:-@[-`{-~])|&#13;/g

/**
 * One line of a memory's content so that Markdown shows it as it is and none of it is taken for structure: a tag, the id at
 * the end of an item, the beginning of a list, a heading or HTML. `unescapeLine` gives it back to the letter.
 */
export function escapeLine(line: string): string {
  return line
    .replaceAll(/\\(?=[!-/:-@[-`{-~\r])/g, '\\\\')
    .replaceAll(/&(?=#13;)/g, '\\&')
    .replaceAll('\r', '&#13;')
    .replaceAll(/(?<=^|\s)[#^]/g, '\\$&')
    .replaceAll(/<(?=[A-Za-z!/?])/g, '\\<')
}

/** The same for a line that begins a line of the file, behind its indentation. */
export function escapeLineStart(line: string): string {
  const text = escapeLine(line)
  const start = text.length - text.trimStart().length
  const rest = text.slice(start)
  const number = /^\d{1,9}(?=[.)])/.exec(rest)?.[0].length ?? 0
  const isMarked = number > 0 || /^[-*+>=~|`_]/.test(rest)
  return isMarked ? `${text.slice(0, start + number)}\\${rest.slice(number)}` : text
}

export function unescapeLine(line: string): string {
  return line.replaceAll(escaped, (_match, sign: string | undefined) => sign ?? '\r')
}

/** A value on a line of its own. */
export function escapeValue(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\r', '\\r')
}

export function unescapeValue(text: string): string {
  return text.replaceAll(/\\([\\nr])/g, (_match, sign: string) => (sign === 'n' ? '\n' : sign === 'r' ? '\r' : '\\'))
}

/** `#tag`, or `#[a tag with spaces]`. */
export function tagText(tag: string): string {
  return /^[\p{L}\p{N}][\p{L}\p{N}_./-]*$/u.test(tag) ? `#${tag}` : `#[${tag.replaceAll(/[\\\]]/g, '\\$&')}]`
}

/** `^id`. White space would end it. */
export function idText(id: string): string {
  return `^${id.replaceAll(/[\s%]/g, encodeURIComponent)}`
}

export function idFromText(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
