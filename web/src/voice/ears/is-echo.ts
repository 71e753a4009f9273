/** Whether what was heard is only what was said aloud just now: loudspeakers stand near microphones. */
export function isEcho(heard: string, said: string): boolean {
  const words = wordsOf(heard)
  if (words.length === 0) return true
  const known = new Set(wordsOf(said))
  const same = words.filter((word) => known.has(word)).length
  // One word is too little to tell: "stop" may well stand in what is being said.
  return words.length > 2 && same / words.length >= 0.8
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}
