/** Twenty secrets of the shapes that people keep, each with characters that some encoding changes or not. */
export const canaries: readonly string[] = [
  'sk-canary-01-QmFzZTY0QmFzZTY0',
  'ghp_canary02AbCdEfGhIjKlMnOpQrSt',
  'canary03+with/base64==signs',
  'canary04 with spaces and "quotes"',
  `canary05'single'&<amp>\\back\\slash`,
  'https://canary06:word@db.example:5432/x?y=1&z=2',
  'pässwörd-cänary07-ключ-鍵-🔑',
  '-----BEGIN KEY-----\ncanary08QmFzZTY0QmFzZTY0QmFzZTY0QmFzZTY0\n-----END KEY-----\n',
  'eyJhbGciOiJIUzI1NiJ9.eyJjYW5hcnkiOiIwOSJ9.c2lnbmF0dXJlLW9mLTA5',
  '{"type":"canary10","private_key":"abc\\ndef"}',
  '4242424242421011',
  'CANARY12UPPERCASEONLYLETTERS',
  'canary13.with.dots_and-dashes~tilde',
  'canary14%20percent%41signs',
  '\tcanary15-with-tab\tinside',
  'canary16$dollar{brace}`tick`!',
  'xoxb-canary17-123456789012-AbCdEfGhIjKl',
  'canary18;semi:colon,comma|pipe',
  'nabcdefgh-canary19-begins-like-an-escape',
  `canary20-${'long'.repeat(60)}`,
]

const units = (text: string): number[] => text.split('').map((unit) => unit.charCodeAt(0))
const hex = (value: number, length: number): string => value.toString(16).padStart(length, '0')

/** How a tool, a page or a model may write one. */
export const encodings: Readonly<Record<string, (secret: string) => string>> = {
  plain: (secret) => secret,
  'base64 of user:secret': (secret) => Buffer.from(`user:${secret}`).toString('base64'),
  base64url: (secret) => Buffer.from(secret).toString('base64url'),
  hex: (secret) => Buffer.from(secret).toString('hex'),
  percent: (secret) => encodeURIComponent(secret),
  'json in json': (secret) => JSON.stringify(JSON.stringify(secret)).slice(3, -3),
  'html entities': (secret) => [...secret].map((letter) => `&#x${letter.codePointAt(0)?.toString(16)};`).join(''),
  'unicode escapes': (secret) =>
    units(secret)
      .map((unit) => `\\u${hex(unit, 4)}`)
      .join(''),
  reversed: (secret) => [...secret].reverse().join(''),
}

/** All of them, as text between other text. */
export function everyCanary(): string {
  return canaries.flatMap((canary) => Object.values(encodings).map((encode) => `<${encode(canary)}>`)).join('\n')
}

/**
 * Forbidden text: every encoding of every canary, literally and as JSON once or twice over, and the core of a base64
 * that also contains its surroundings.
 */
const forbidden = canaries.flatMap((canary, number) =>
  Object.entries(encodings).flatMap(([name, encode]) => {
    const written = name.startsWith('base64 of') ? encode(canary).slice(8, -4) : encode(canary).trim()
    const inJson = JSON.stringify(written).slice(1, -1)
    const forms = [written, inJson, JSON.stringify(inJson).slice(1, -1)]
    return forms.map((form) => ({ name: `canary ${number + 1}, ${name}`, bytes: Buffer.from(form) }))
  }),
)

/** The canaries that are found there, by number and encoding; and pieces of them, as a limit on length may leave one. */
export function findCanaries(place: string | Uint8Array): string[] {
  const bytes = typeof place === 'string' ? Buffer.from(place) : Buffer.from(place)
  const pieces = bytes.toString('latin1').match(/(canary|yranac)-?\d{2}/gi) ?? []
  const whole = forbidden.filter((each) => bytes.includes(each.bytes)).map(({ name }) => name)
  return [...new Set([...whole, ...pieces])]
}
