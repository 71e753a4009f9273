const endMarks = '.!?…'
const wideEndMarks = '。！？'
const abbreviations = new Set(
  `dr mr mrs ms st prof jr sr no nr vs etc approx e.g i.e a.m p.m u.s u.k d.c jan feb mar apr jun jul aug sep sept oct
  nov dec`.split(/\s+/),
)

/** The sentences of a text, trimmed, in order. One walk over it, whatever it holds. */
export function splitSentences(text: string): string[] {
  const sentences: string[] = []
  let start = 0
  const cut = (end: number) => {
    const sentence = text.slice(start, end).trim()
    if (sentence !== '') sentences.push(sentence)
    start = end
  }
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at)
    if (character === '\n' || wideEndMarks.includes(character)) cut(at + 1)
    else if (endMarks.includes(character) && /\s/.test(text.charAt(at + 1)) && !endsAbbreviation(text, start, at)) {
      cut(at + 1)
    }
  }
  cut(text.length)
  return sentences
}

function endsAbbreviation(text: string, start: number, at: number): boolean {
  if (text.charAt(at) !== '.') return false
  // No further back than the longest abbreviation.
  const before = text.slice(Math.max(start, at - 8), at)
  const word = (before.split(/\s/).at(-1) ?? '').toLowerCase()
  return abbreviations.has(word) || /^[a-z]$/.test(word)
}
