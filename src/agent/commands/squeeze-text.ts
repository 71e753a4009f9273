/** The text without what says nothing twice: runs of blank lines, spaces at line ends, and lines that came before. */
export function squeezeText(text: string): string {
  const seen = new Set<string>()
  const kept: string[] = []
  for (const line of text.replaceAll('\r\n', '\n').split('\n')) {
    const bare = line.trim()
    if (bare === '') {
      if (kept.length > 0 && kept.at(-1) !== '') kept.push('')
      continue
    }
    // A bracket or a rule by itself is part of a form, and no repetition.
    const isWorded = /[\p{L}\p{N}]/u.test(bare)
    if (isWorded && seen.has(bare)) continue
    seen.add(bare)
    kept.push(line.trimEnd())
  }
  return kept.join('\n').trim()
}
