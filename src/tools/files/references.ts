import { toDisplayText, truncateText } from '../../base/text.ts'
import type { Label, MediaPart } from '../../protocol/messages.ts'
import type { AssetFailure } from './assets.ts'

interface AskedReference {
  userId: string
  path: string
  signal: AbortSignal
}

export interface ReferenceText {
  ok: true
  path: string
  text: string
  /** A note about the missing part and how to continue; null if complete. */
  note: string | null
  trust: Label
}

/**
 * The sources of content. Each returns expected failures as data, with a sentence for the user; inaccessible content
 * does not exist. None is asked for the same thing twice in one message.
 */
export interface ReferenceSources {
  /** A page of a file; for a long one its beginning. A file that is not text is a failure with the code `binary`. */
  readFile(asked: AskedReference): Promise<ReferenceText | AssetFailure>
  readBlock(asked: AskedReference): Promise<ReferenceText | AssetFailure>
  /** The bytes of a file that is not text; `too_large` if it has more than `maxBytes`. */
  readBytes(
    asked: AskedReference & { maxBytes: number },
  ): Promise<{ ok: true; path: string; data: Uint8Array; trust: Label } | AssetFailure>
  keepMedia(file: { name: string; mediaType: string; data: Uint8Array }): Promise<MediaPart>
  asData(text: string): string
}

interface Expansion {
  text: string
  /** For the user: what was not found or was cut. */
  notes: string[]
  media: MediaPart[]
  included: { kind: Reference['kind']; path: string; trust: Label }[]
}

const maxReferences = 20
const referencesMostCharacters = 100_000
const maxCharactersOfAll = 300_000
const maxImageBytes = 10_000_000

type Outcome = { replacement: string } | { note: string }

/**
 * The text to send: `@path` and `@@path` replaced by their content, once: an `@` in included text stays. Unresolved
 * references stay as written. Throws only the signal's reason, and errors of the sources.
 */
export async function expandReferences(
  request: { text: string; userId: string; signal: AbortSignal } & ReferenceSources,
): Promise<Expansion> {
  const { text, signal } = request
  const expansion: Expansion = { text, notes: [], media: [], included: [] }
  const seen = new Set<string>()
  let room = maxCharactersOfAll
  let written = ''
  let done = 0
  for (const reference of findReferences(text)) {
    signal.throwIfAborted()
    const key = `${reference.kind} ${reference.path}`
    // A repetition stays: its content is above.
    if (seen.has(key)) continue
    seen.add(key)
    const outcome = await replace(reference)
    if ('note' in outcome) {
      expansion.notes.push(outcome.note)
      continue
    }
    room -= outcome.replacement.length
    written += text.slice(done, reference.start)
    if (written !== '' && !written.endsWith('\n')) written += '\n'
    written += outcome.replacement
    done = reference.end
    if (done < text.length && text[done] !== '\n') written += '\n'
  }
  return { ...expansion, text: written + text.slice(done) }

  async function replace(reference: Reference): Promise<Outcome> {
    const { kind, path } = reference
    const asWritten = text.slice(reference.start, reference.end)
    if (seen.size > maxReferences) return stays(asWritten, `only ${maxReferences} are included at once`)
    const asked = { userId: request.userId, path, signal }
    const found = await (kind === 'file' ? request.readFile(asked) : request.readBlock(asked))
    if (!found.ok)
      return found.code === 'binary' && kind === 'file' ? attach(asked, asWritten) : refused(asWritten, found)
    const shown = truncateText(found.text, referencesMostCharacters)
    if (shown.length > room) return stays(asWritten, 'this message has no space left')
    const note =
      shown === found.text ? found.note : `[${referencesMostCharacters} of ${found.text.length} characters are shown]`
    if (note !== null) expansion.notes.push(`${asWritten} is incomplete: ${note}`)
    expansion.included.push({ kind, path: found.path, trust: found.trust })
    const content = found.trust === 'untrusted' ? request.asData(shown) : shown
    return { replacement: fenced({ name: `${kind} ${found.path}`, content, note }) }
  }

  async function attach(asked: AskedReference, asWritten: string): Promise<Outcome> {
    const found = await request.readBytes({ ...asked, maxBytes: maxImageBytes })
    if (!found.ok) return refused(asWritten, found)
    const mediaType = imageTypeOf(found.data)
    if (!mediaType) return stays(asWritten, 'it is neither text nor a supported image')
    const name = found.path.split('/').at(-1) ?? found.path
    expansion.media.push(await request.keepMedia({ name, mediaType, data: found.data }))
    expansion.included.push({ kind: 'file', path: found.path, trust: found.trust })
    return { replacement: `[image ${oneLineName(found.path)}, attached]` }
  }
}

function refused(asWritten: string, failure: AssetFailure): Outcome {
  if (failure.code === 'is_directory') return stays(asWritten, 'it is a folder, not a file')
  return stays(asWritten, failure.message)
}

function stays(asWritten: string, reason: string): Outcome {
  return { note: `${asWritten} was not replaced: ${reason}` }
}

/** A name in one line that cannot end the line, or the fence, that contains it. */
export function oneLineName(name: string): string {
  return toDisplayText(name).replaceAll(/[\n\t`]/g, ' ')
}

/** A text under its name, between fences that it cannot close. */
export function fenced({ name, content, note }: { name: string; content: string; note: string | null }): string {
  const longest = (content.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 0)
  const fence = '`'.repeat(Math.max(3, longest + 1))
  const body = content === '' || content.endsWith('\n') ? content : `${content}\n`
  const closed = `${fence} ${oneLineName(name)}\n${body}${fence}`
  return note === null ? closed : `${closed}\n${note}`
}

interface Span {
  start: number
  end: number
}

const fenceStart = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*$)|~{3,})/
const fenceEnd = /^[ \t>]*(`{3,}|~{3,})[ \t\r]*$/
const address = /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s<>"]+/gi

/** Literal spans: fenced code, inline code, URLs. In order, not nested. */
function findLiteralSpans(text: string): Span[] {
  const spans = text.includes('`') || text.includes('~~~') ? codeSpans(text) : []
  for (const { 0: found, index } of text.matchAll(address)) {
    // `@familiar:///blocks/x` is a reference, and its `@` is before this span.
    spans.push({ start: index, end: index + found.length })
  }
  const merged: Span[] = []
  for (const span of spans.sort((a, b) => a.start - b.start)) {
    const last = merged.at(-1)
    if (last && span.start < last.end) last.end = Math.max(last.end, span.end)
    else merged.push({ ...span })
  }
  return merged
}

function codeSpans(text: string): Span[] {
  const spans: Span[] = []
  let fence: { start: number; marks: string } | undefined
  let paragraph = 0
  for (let start = 0; start < text.length; ) {
    const lineEnd = text.indexOf('\n', start)
    const end = lineEnd < 0 ? text.length : lineEnd
    const line = text.slice(start, end)
    if (fence) {
      const marks = fenceEnd.exec(line)?.[1]
      if (marks?.startsWith(fence.marks)) {
        spans.push({ start: fence.start, end })
        fence = undefined
        paragraph = end
      }
    } else {
      const marks = fenceStart.exec(line)?.[1]
      if (marks !== undefined || line.trim() === '') {
        addInline(text, { start: paragraph, end: start }, spans)
        paragraph = end
      }
      if (marks !== undefined) fence = { start, marks }
    }
    start = end + 1
  }
  if (fence) spans.push({ start: fence.start, end: text.length })
  else addInline(text, { start: paragraph, end: text.length }, spans)
  return spans
}

/** A run of backticks is closed by the next one of the same length in the same paragraph. */
function addInline(text: string, { start, end }: Span, spans: Span[]): void {
  const runs = [...text.slice(start, end).matchAll(/`+/g)].map(({ 0: marks, index }) => ({
    start: start + index,
    end: start + index + marks.length,
    length: marks.length,
  }))
  // From the end, so that the last one seen of a length is the next one.
  const nextOf = new Map<number, number>()
  const closedBy = runs.map(() => -1)
  for (let at = runs.length - 1; at >= 0; at -= 1) {
    const length = runs[at]?.length ?? 0
    closedBy[at] = nextOf.get(length) ?? -1
    nextOf.set(length, at)
  }
  for (let at = 0; at < runs.length; at += 1) {
    const opening = runs[at]
    const closing = runs[closedBy[at] ?? -1]
    if (!opening || !closing || text[opening.start - 1] === '\\') continue
    spans.push({ start: opening.start, end: closing.end })
    at = closedBy[at] ?? at
  }
}

interface Reference {
  kind: 'file' | 'block'
  /** For the stores: without quotes, escapes and trailing punctuation. */
  path: string
  /** Its position in the text, including `@` and quotes. */
  start: number
  end: number
}

const maxCharacters = 1_024
// Any other character before an `@` makes it part of a word: an e-mail address, a URL, `file=@x`, `\@x`.
const mayPrecede = /[\s([{<,;:>*«„“‘‚‹–—（【《「、。，：；]/u
const quotes: Readonly<Record<string, string>> = { '"': '"', "'": "'", '“': '”' }
const unquoted = /(?:\\ |[,;](?!@)|[^\s"`<>|,;])+/uy
const foreignUri = /^(?!familiar:|ikigai:)[a-z][a-z0-9+.-]*:\/\//i
const ownScheme = /^(?:familiar|ikigai):\/+/i

/** Every `@path` and `@@path` of a text, in order, whether or not it exists. */
export function findReferences(text: string): Reference[] {
  if (!text.includes('@')) return []
  const literal = findLiteralSpans(text)
  const references: Reference[] = []
  let span = 0
  for (let at = text.indexOf('@'); at >= 0; ) {
    while ((literal[span]?.end ?? Number.POSITIVE_INFINITY) <= at) span += 1
    const inside = literal[span]
    if (inside && inside.start <= at) {
      at = text.indexOf('@', inside.end)
      continue
    }
    let signs = 1
    while (text[at + signs] === '@') signs += 1
    const found = signs <= 2 && opens(text, at) ? readPath(text, at + signs) : undefined
    if (found?.path) {
      const [kind, path] =
        signs === 1 ? (['file', found.path] as const) : (['block', found.path.replace(ownScheme, '')] as const)
      references.push({ kind, path, start: at, end: found.end })
    }
    at = text.indexOf('@', found?.end ?? at + signs)
  }
  return references
}

function opens(text: string, at: number): boolean {
  const before = text[at - 1]
  if (before === undefined || mayPrecede.test(before)) return true
  // `"@notes.md"` is quoted; `"max m"@example.org` is an address.
  const further = text[at - 2]
  return (before === '"' || before === "'") && (further === undefined || mayPrecede.test(further))
}

/** The path from here on, and where to continue; without a path these words are not a reference. */
function readPath(text: string, from: number): { path?: string; end: number } {
  const closing = quotes[text[from] ?? '']
  if (closing !== undefined) {
    const line = text.slice(from + 1, from + 2 + maxCharacters)
    const length = line.indexOf(closing)
    const path = line.slice(0, Math.max(0, length))
    return isPath(path) && !path.includes('\n') ? { path, end: from + length + 2 } : { end: from + 1 }
  }
  unquoted.lastIndex = from
  const raw = unquoted.exec(text)?.[0] ?? ''
  if (raw.length > maxCharacters) return { end: from + raw.length }
  const kept = withoutTrailing(raw)
  const path = kept.replaceAll('\\ ', ' ')
  return isPath(path) ? { path, end: from + kept.length } : { end: from + raw.length }
}

function isPath(path: string): boolean {
  return /[\p{L}\p{N}]/u.test(path) && !foreignUri.test(path)
}

const trailing = new Set(".,;:!?…'’”»*~\\。，、；：！？")
const brackets = ['()', '[]', '{}', '（）', '【】', '《》', '「」']

/** A sentence continues after a path: punctuation, an unmatched closing bracket, an `’s`. */
function withoutTrailing(raw: string): string {
  const open = new Map<string, number>()
  for (const [opening = '', closing = ''] of brackets) {
    if (raw.includes(closing)) open.set(closing, raw.split(closing).length - raw.split(opening).length)
  }
  let end = raw.length
  for (;;) {
    const last = raw[end - 1] ?? ''
    const surplus = open.get(last) ?? 0
    if (trailing.has(last)) end -= 1
    else if (last === 's' && /['’]/.test(raw[end - 2] ?? '')) end -= 2
    else if (surplus > 0) {
      open.set(last, surplus - 1)
      end -= 1
    } else return raw.slice(0, end)
  }
}

/** The image type by its bytes, of those that models accept; names are unreliable. */
export function imageTypeOf(data: Uint8Array): string | undefined {
  const head = Buffer.from(data.subarray(0, 12)).toString('latin1')
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif'
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return 'image/webp'
  return undefined
}
