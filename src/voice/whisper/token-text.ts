/** Numbers of tokens back to text. */
export interface TokenText {
  /** Leaves out the model's marks. Bytes that make no character are shown as such, never thrown. */
  decode(tokens: readonly number[]): string
}

/** `vocabulary` is that of GPT-2: each byte of a token stands as a letter that can be printed. */
export function createTokenText(vocabulary: Readonly<Record<string, number>>): TokenText {
  const spelled = new Map(Object.entries(vocabulary).map(([text, token]) => [token, text]))
  const bytes = byteOfLetter()
  return {
    decode(tokens) {
      const letters = tokens.flatMap((token) => [...(spelled.get(token) ?? '')])
      return new TextDecoder().decode(Uint8Array.from(letters, (letter) => bytes.get(letter) ?? 0x20))
    },
  }
}

/** Bytes that print stand for themselves; the others were given the letters from 256 on, in their order. */
function byteOfLetter(): Map<string, number> {
  const prints = (byte: number) => (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad)
  const letters = new Map<string, number>()
  let next = 256
  for (let byte = 0; byte < 256; byte += 1) {
    letters.set(String.fromCodePoint(prints(byte) ? byte : next), byte)
    if (!prints(byte)) next += 1
  }
  return letters
}
