import { shortestForm } from './form-index.ts'

/** A line of a longer secret, such as a private key, gives away as much as a secret of its own. */
const shortestLine = 32

/**
 * How a secret may be written, as far as it can be listed. What escapes single characters (`\u0041`, `%41`, `&#65;`) in
 * any mixture is undone before the search instead.
 */
export function formsOf(secret: string): string[] {
  // Files and terminals add a newline to what they hand over.
  const written = [secret, secret.trim(), ...linesOf(secret)]
  return written.filter((text) => text.length >= shortestForm).flatMap(encodingsOf)
}

function linesOf(secret: string): string[] {
  const lines = secret.split('\n').map((line) => line.trim())
  if (lines.length === 1) return []
  return lines.filter((line) => line.length >= shortestLine && /^[A-Za-z0-9+/=_-]+$/.test(line))
}

function encodingsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  const percent = encodeURIComponent(secret.toWellFormed())
  const json = JSON.stringify(secret).slice(1, -1)
  const forms = [
    secret,
    // As a key to compare by, or a header's name.
    secret.toLowerCase(),
    secret.toUpperCase(),
    [...secret].reverse().join(''),
    hex,
    hex.toUpperCase(),
    percent,
    percent.replace(/%[0-9A-F]{2}/g, (pair) => pair.toLowerCase()),
    percent.replaceAll('%20', '+'),
    json,
    // JSON inside JSON, as a tool's result inside a request.
    JSON.stringify(json).slice(1, -1),
    ...base64Forms(bytes),
  ]
  return forms.filter((form) => form.length >= shortestForm)
}

/**
 * Inside a longer text (`user:secret`) the letters depend on where the secret begins, modulo three, and those at its
 * edges on its neighbours: each of the three cores is looked for, and the whole with and without its padding.
 */
function base64Forms(bytes: Buffer): string[] {
  const cores = [0, 1, 2].map((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replaceAll('=', '')
    const end = Math.floor(((shift + bytes.length) * 8) / 6)
    return encoded.slice(Math.ceil((shift * 8) / 6), end)
  })
  const whole = bytes.toString('base64')
  const all = [whole, whole.replaceAll('=', ''), ...cores]
  return all.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')])
}
