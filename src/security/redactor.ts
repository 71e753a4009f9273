import { isUtf8 } from 'node:buffer'
import { parseAnyJson } from '../base/json.ts'
import words from './redactor-words.json' with { type: 'json' }
import { endOfWholeEscapes, type UnescapedView, unescapeOnce } from './unescape.ts'

/** Removes known secrets from text before it reaches a model, a store, a log or a channel. */
export interface Redactor {
  /**
   * From now on the secret is found literally and in the usual encodings. False if it is too short to be distinguished
   * from other text, or is a word that this program writes itself.
   */
  add(secret: string): boolean
  redact(text: string): string
  /** For incomplete text: the decided part, and the rest, which may be the beginning of a secret. */
  redactBeginning(text: string): { redacted: string; rest: string }
}

const redactedMark = '[redacted]'
/** JSON inside JSON inside a request, plus one. */
const maxLevels = 4

export function createRedactor(secrets: Iterable<string> = []): Redactor {
  const index = createFormIndex()
  const characters = new Set<string>()

  const redactor: Redactor = {
    add(secret) {
      const trimmed = secret.trim()
      if (trimmed.length < shortestForm || isOrdinaryWord(trimmed)) return false
      for (const form of formsOf(secret)) {
        if (isOrdinaryWord(form)) continue
        index.add(form)
        // Also both halves of a surrogate pair, which may be escaped one by one.
        for (const character of [...form, ...form.split('')]) characters.add(character)
      }
      return true
    },
    redact(text) {
      if (index.isEmpty() || text.length < shortestForm) return text
      return without(text, joined(viewsOf(text, (whole) => whole).flatMap(findIn)))
    },
    redactBeginning(text) {
      if (index.isEmpty()) return { redacted: text, rest: '' }
      // Half an escape may read as a complete one with another meaning, and hide the secret that it is part of.
      const views = viewsOf(text, (read) => read.slice(0, endOfWholeEscapes(read)))
      const places = joined(views.flatMap(findIn))
      const cut = cutBefore(Math.min(...views.map(findUndecided)), views, places)
      const decided = places.filter(({ end }) => end <= cut)
      return { redacted: without(text.slice(0, cut), decided), rest: text.slice(cut) }
    },
  }

  /** The text itself, then with one level of escapes undone after the other, as far as each is certain. */
  function viewsOf(text: string, certain: (text: string) => string): UnescapedView[] {
    const views: UnescapedView[] = [
      { text: certain(text), isSource: true, toSource: (index) => index, fromSource: (place) => place },
    ]
    for (const view of views) {
      const next = views.length <= maxLevels ? unescapeOnce(view, characters) : undefined
      if (next) views.push({ ...next.view, text: certain(next.view.text) })
      if (next?.isLast) break
    }
    return views
  }

  function findIn({ text, toSource }: UnescapedView): Place[] {
    return index.find(text).map(({ start, end }) => ({ start: toSource(start, false), end: toSource(end, true) }))
  }

  function findUndecided({ text, toSource }: UnescapedView): number {
    return toSource(index.findBeginning(text), false)
  }

  for (const secret of secrets) redactor.add(secret)
  return redactor
}

/** The nearest position that is neither inside an escape nor inside a secret, which may still grow into another one. */
function cutBefore(place: number, views: readonly UnescapedView[], places: readonly Place[]): number {
  const secret = places.find(({ start, end }) => start < place && place < end)
  const starts = views.map(({ toSource, fromSource }) => toSource(fromSource(place), true))
  const cut = Math.min(place, secret?.start ?? place, ...starts)
  return cut === place ? cut : cutBefore(cut, views, places)
}

/** Sorted and merged where they overlap: no end of one secret may remain beside another. */
function joined(places: Place[]): Place[] {
  if (places.length < 2) return places
  const found: Place[] = []
  for (const place of places.sort((a, b) => a.start - b.start)) {
    const last = found.at(-1)
    if (last && place.start < last.end) last.end = Math.max(last.end, place.end)
    else found.push(place)
  }
  return found
}

function without(text: string, places: readonly Place[]): string {
  let result = ''
  let copied = 0
  for (const { start, end } of places) {
    result += text.slice(copied, start) + redactedMark
    copied = end
  }
  return copied === 0 ? text : result + text.slice(copied)
}

/** A range of a text; `end` is exclusive. */
interface Place {
  start: number
  end: number
}

const shortestForm = 8
const gramLength = 4
// Every occurrence of a form contains one of its first grams at one of every five positions.
const stride = shortestForm - gramLength + 1
const slots = 1 << 18

/**
 * Searches for many texts at once. Checks only every fifth position of a text, whether the four characters there are among the first of a form. So a
 * text costs the same with one form as with ten thousand: a nanosecond or two per character.
 */
function createFormIndex() {
  const forms = new Set<string>()
  const marked = new Uint8Array(slots)
  const byGram = new Map<number, { form: string; offset: number }[]>()
  const firstCharacters = new Set<number>()
  let sorted: string[] | undefined
  let longest = 0

  return {
    /** At least `shortestForm` characters long. */
    add(form: string): void {
      if (form.length < shortestForm || forms.has(form)) return
      forms.add(form)
      firstCharacters.add(form.charCodeAt(0))
      longest = Math.max(longest, form.length)
      sorted = undefined
      for (let offset = 0; offset < stride; offset += 1) {
        const gram = gramAt(form, offset)
        marked[gram] = 1
        const known = byGram.get(gram)
        if (known) known.push({ form, offset })
        else byGram.set(gram, [{ form, offset }])
      }
    },
    isEmpty: () => forms.size === 0,
    /** Every occurrence of a form, in no order; they may overlap. */
    find(text: string): Place[] {
      const places: Place[] = []
      for (let at = 0; at + gramLength <= text.length; at += stride) {
        const gram = gramAt(text, at)
        if (marked[gram] === 0) continue
        for (const { form, offset } of byGram.get(gram) ?? []) {
          const start = at - offset
          if (start >= 0 && text.startsWith(form, start)) places.push({ start, end: start + form.length })
        }
      }
      return places
    },
    /** The start of the longest suffix that could be the beginning of a form; the text's length if there is none. */
    findBeginning(text: string): number {
      sorted ??= [...forms].sort()
      for (let start = Math.max(0, text.length - longest + 1); start < text.length; start += 1) {
        if (firstCharacters.has(text.charCodeAt(start)) && beginsOne(sorted, text.slice(start))) return start
      }
      return text.length
    },
  }
}

function gramAt(text: string, at: number): number {
  let hash = text.charCodeAt(at)
  for (let index = 1; index < gramLength; index += 1) hash = Math.imul(hash, 0x9e3779b1) + text.charCodeAt(at + index)
  return (Math.imul(hash, 0x85ebca6b) >>> 14) & (slots - 1)
}

/** Whether a longer form begins with the text. */
function beginsOne(sorted: readonly string[], text: string): boolean {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] ?? '') <= text) low = middle + 1
    else high = middle
  }
  return sorted[low]?.startsWith(text) === true
}

/**
 * Words that this program writes itself and later compares exactly: kinds, states, roles. A password may be
 * `assistant`; removing it from stored data would make rows unreadable.
 */
const ownWords = words.ownWords.join('\n')

/**
 * Values that people enter when a key is required but not needed: as secrets, they would be removed from every text
 * that mentions them.
 */
const placeholders = words.placeholders.join('\n')

/** Whether a text is one of them or a part of one. */
export function isOrdinaryWord(text: string): boolean {
  return ownWords.includes(text) || placeholders.includes(text)
}

/** Redacts a text file. Secrets in an image or archive cannot be found, so those stay as they are. */
export function redactBytes(redactor: Pick<Redactor, 'redact'>, bytes: Uint8Array): Uint8Array {
  if (!isUtf8(bytes)) return bytes
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  const redacted = redactor.redact(text)
  return redacted === text ? bytes : Buffer.from(redacted)
}

/**
 * The value without secrets: in its texts, in keys that are not plain names, and in numbers. A value without secrets is
 * returned uncopied, so that callers can compare by identity. Values that are not JSON stay as they are.
 */
export function redactJson<T>(redactor: Pick<Redactor, 'redact'>, value: T): T {
  return redactValue(redactor.redact, value) as T
}

/** A text for storage. JSON stays valid JSON: removing a secret from the raw text could break an escape. */
export function redactStored(redactor: Pick<Redactor, 'redact'>, text: string): string {
  const redacted = redactor.redact(text)
  if (redacted === text || !/^[[{]/.test(text)) return redacted
  const parsed = parseAnyJson(text)
  return parsed.ok ? JSON.stringify(redactJson(redactor, parsed.value)) : redacted
}

function redactValue(redact: Redactor['redact'], value: unknown): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value === 'number') {
    const written = String(value)
    const redacted = redact(written)
    return redacted === written ? value : redacted
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => redactValue(redact, item))
    return items.every((item, index) => item === value[index]) ? value : items
  }
  return isPlainObject(value) ? redactObject(redact, value) : value
}

function redactObject(redact: Redactor['redact'], value: Record<string, unknown>): Record<string, unknown> {
  let changed = false
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
    const entry: [string, unknown] = [programKey.test(key) ? key : redact(key), redactValue(redact, inner)]
    changed ||= entry[0] !== key || entry[1] !== inner
    return entry
  })
  return changed ? Object.fromEntries(entries) : value
}

/** A key as a program writes it. Readers look it up exactly, and a secret of letters only may equal one. */
const programKey = /^[A-Za-z_]{1,40}$/

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** A line of a longer secret, such as a private key, is as sensitive as a separate secret. */
const shortestLine = 32

/**
 * The spellings of a secret that can be listed. Escapes of single characters (`\u0041`, `%41`, `&#65;`), in any
 * mixture, are undone before the search instead.
 */
function formsOf(secret: string): string[] {
  // Files and terminals append a newline.
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
    // As a comparison key or a header name.
    secret.toLowerCase(),
    secret.toUpperCase(),
    [...secret].reverse().join(''),
    hex,
    hex.toUpperCase(),
    percent,
    percent.replace(/%[0-9A-F]{2}/g, (pair) => pair.toLowerCase()),
    percent.replaceAll('%20', '+'),
    json,
    // JSON inside JSON, like a tool's result inside a request.
    JSON.stringify(json).slice(1, -1),
    ...base64Forms(bytes),
  ]
  return forms.filter((form) => form.length >= shortestForm)
}

/**
 * Inside a longer text (`user:secret`) the base64 letters depend on the secret's offset modulo three, and those at its
 * edges on the neighbors: all three cores are searched, and the whole with and without padding.
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

/** Redacts text that arrives in pieces. Joined, the output equals `redact` of the whole. */
export function createStreamRedactor(redactor: Redactor) {
  let held = ''
  return {
    /** The output that is certain so far: everything except a suffix that could be the beginning of a secret. */
    push(text: string): string {
      const { redacted, rest } = redactor.redactBeginning(held + text)
      held = rest
      return redacted
    },
    /** The held-back rest, at the end of the stream or when something else follows. */
    end(): string {
      const last = redactor.redact(held)
      held = ''
      return last
    },
  }
}
