/**
 * How many bits a token has at most, by the letters that it is written in. A repeated pattern counts for nothing: what is
 * asked here is whether a machine made it, and no machine makes forty letters out of five.
 */
export function tokenBits(token: string): number {
  const secret = token.replace(/^fam_/, '')
  const distinct = new Set(secret).size
  const bitsPerLetter = /^[0-9a-f]+$/i.test(secret) ? 4 : 6
  return distinct < 10 ? 0 : secret.length * bitsPerLetter
}
