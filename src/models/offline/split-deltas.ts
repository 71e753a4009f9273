const wanted = 24

/** The text in small pieces, cut before a space where there is one and never inside a character. */
export function* splitDeltas(text: string): Generator<string> {
  let start = 0
  while (start < text.length) {
    const end = endOfPiece(text, start)
    yield text.slice(start, end)
    start = end
  }
}

function endOfPiece(text: string, start: number): number {
  const limit = start + wanted
  if (limit >= text.length) return text.length
  const space = text.lastIndexOf(' ', limit)
  if (space > start) return space
  const code = text.charCodeAt(limit - 1)
  const isHighSurrogate = code >= 0xd800 && code <= 0xdbff
  return isHighSurrogate ? limit - 1 : limit
}
