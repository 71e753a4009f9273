/** Takes known secrets out of text on its way to a model, a store, a log or a channel. */
export interface Redactor {
  /** From now on the secret is found as it stands and in the usual encodings. */
  add(secret: string): void
  redact(text: string): string
}

/** Shorter ones would be found in ordinary words, and are no secrets. */
const shortestSecret = 8
const redacted = '[redacted]'

export function createRedactor(secrets: Iterable<string> = []): Redactor {
  const forms = new Set<string>()
  let longestFirst: string[] = []

  const redactor: Redactor = {
    add(secret) {
      // Files and terminals add a newline to what they hand over.
      for (const written of [secret, secret.trim()])
        if (written.length >= shortestSecret) for (const form of formsOf(written)) forms.add(form)
      longestFirst = [...forms].sort((a, b) => b.length - a.length)
    },
    redact(text) {
      const places = longestFirst.length === 0 ? [] : findAll(text, longestFirst)
      if (places.length === 0) return text
      let result = ''
      let copied = 0
      for (const { start, end } of places) {
        result += text.slice(copied, start) + redacted
        copied = end
      }
      return result + text.slice(copied)
    },
  }
  for (const secret of secrets) redactor.add(secret)
  return redactor
}

/** Where any form stands, joined where they overlap: no end of one secret may stick out of another. */
function findAll(text: string, forms: readonly string[]): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = []
  for (const form of forms)
    for (let start = text.indexOf(form); start !== -1; start = text.indexOf(form, start + 1))
      found.push({ start, end: start + form.length })
  found.sort((a, b) => a.start - b.start)

  const joined: { start: number; end: number }[] = []
  for (const place of found) {
    const last = joined.at(-1)
    if (last && place.start <= last.end) last.end = Math.max(last.end, place.end)
    else joined.push(place)
  }
  return joined
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  const percent = encodeURIComponent(secret.toWellFormed())
  const json = JSON.stringify(secret).slice(1, -1)
  const forms = [
    secret,
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
  return forms.filter((form) => form.length >= shortestSecret)
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
