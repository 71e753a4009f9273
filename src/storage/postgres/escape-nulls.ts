// PostgreSQL holds every character but U+0000. It is written as two of the next one, which then cannot stand alone any
// more. So what is read is what was given, and the order of bytes stays what it was.
const nullCharacter = String.fromCharCode(0)
const marker = String.fromCharCode(1)
const writtenNull = marker + marker
const writtenMarker = marker + String.fromCharCode(2)

export function escapeNulls(text: string): string {
  if (!text.includes(nullCharacter) && !text.includes(marker)) return text
  return text.replaceAll(marker, writtenMarker).replaceAll(nullCharacter, writtenNull)
}

export function unescapeNulls(text: string): string {
  if (!text.includes(marker)) return text
  let plain = ''
  let from = 0
  for (let at = text.indexOf(marker); at >= 0; at = text.indexOf(marker, from)) {
    const pair = text.slice(at, at + 2)
    // What another program wrote is read as it is.
    plain += text.slice(from, at) + (pair === writtenNull ? nullCharacter : pair === writtenMarker ? marker : pair)
    from = at + 2
  }
  return plain + text.slice(from)
}
