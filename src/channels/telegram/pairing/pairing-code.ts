import { sha256 } from '../../../base/hash.ts'

/** Nothing that is taken for something else when it is read aloud or typed: no 0 and O, no 1, I and L, no U and V. */
const alphabet = '23456789ABCDEFGHJKMNPQRSTWXYZ'
const length = 8

/** 29 to the power of 8: with twenty tries in ten minutes, one in 25 thousand million. */
export function makePairingCode(random: (size: number) => Uint8Array): string {
  let code = ''
  while (code.length < length) {
    // Bytes past the last whole multiple are thrown away, so that no character is likelier than another.
    for (const byte of random(length * 2)) {
      if (byte < 256 - (256 % alphabet.length) && code.length < length) code += alphabet[byte % alphabet.length]
    }
  }
  return code
}

/** As it was typed, by whoever: undefined for what cannot be one. Small letters, spaces and hyphens are let through. */
export function readPairingCode(text: string): string | undefined {
  if (text.length > 40) return undefined
  const code = text.toUpperCase().replaceAll(/[\s-]/g, '')
  return code.length === length && [...code].every((letter) => alphabet.includes(letter)) ? code : undefined
}

export function pairingCodeHash(code: string): string {
  return sha256(`pairing code:${code}`)
}
