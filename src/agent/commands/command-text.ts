/** One line of at most `limit` characters, in quotes that it cannot be taken for anything else. */
export function quoted(text: string, limit = 120): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length > limit ? `“${line.slice(0, limit).toWellFormed()} …”` : `“${line}”`
}

export function formatTokens(tokens: number): string {
  return tokens.toLocaleString('en')
}

export function plural(count: number, one: string): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : `${one}s`}`
}

/** A whole number from 1 on; undefined for anything else. */
export function readCount(text: string): number | undefined {
  const count = Number(text)
  return /^\d{1,6}$/.test(text) && count > 0 ? count : undefined
}
