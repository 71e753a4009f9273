import type { Json } from '../../../protocol/json.ts'

// Controls but for tab and line ends, soft hyphen and joiners, bidirectional marks and overrides, fillers that show as
// nothing, tags, and the variation selectors that can carry bytes.
const hidden =
  /[\p{Cc}--[\t\n\r]]|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/v

/** Made when it is first needed: the list of all emoji takes ten milliseconds to read. */
let joinedEmoji: RegExp | undefined

/** The first character that nobody sees, as `U+202E`. Those that join an emoji are part of what is seen. */
function findHiddenCharacter(text: string): string | undefined {
  joinedEmoji ??= /\p{RGI_Emoji}/gv
  const found = hidden.exec(text.replace(joinedEmoji, ''))?.[0].codePointAt(0)
  return found === undefined ? undefined : `U+${found.toString(16).toUpperCase().padStart(4, '0')}`
}

/** In which text of a value, keys among them, and which character. */
export function findHiddenIn(value: Json, path: string): { path: string; character: string } | undefined {
  if (typeof value === 'string') {
    const character = findHiddenCharacter(value)
    return character === undefined ? undefined : { path, character }
  }
  if (value === null || typeof value !== 'object') return undefined
  for (const [key, inner] of Object.entries(value)) {
    const character = findHiddenCharacter(key)
    if (character !== undefined) return { path: `${path} (a key)`, character }
    const found = findHiddenIn(inner, Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`)
    if (found) return found
  }
  return undefined
}
