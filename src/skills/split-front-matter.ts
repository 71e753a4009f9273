/** A text and what stands above it between two lines of `---`. */
export type FrontMatter =
  | { kind: 'none'; body: string }
  | { kind: 'yaml'; yaml: string; body: string }
  /** `---js` and the like: written in a language that some readers run. This one runs nothing. */
  | { kind: 'foreign'; language: string }
  | { kind: 'open' }

export function splitFrontMatter(written: string): FrontMatter {
  const text = written.replace(/^\ufeff/, '').replaceAll(/\r\n?/g, '\n')
  const opening = /^---(?!-)[ \t]*([^\n]*)\n?/.exec(text)
  if (!opening) return { kind: 'none', body: text.trim() }
  const language = opening[1]?.trim() ?? ''
  if (language !== '' && !language.startsWith('#') && !/^ya?ml$/i.test(language)) return { kind: 'foreign', language }
  const rest = text.slice(opening[0].length)
  const closing = /^(?:---|\.\.\.)[ \t]*$/m.exec(rest)
  if (!closing) return { kind: 'open' }
  return {
    kind: 'yaml',
    yaml: rest.slice(0, closing.index),
    body: rest.slice(closing.index + closing[0].length).trim(),
  }
}
