import { createFormIndex, type Place, shortestForm } from './form-index.ts'
import { isOrdinaryWord } from './ordinary-words.ts'
import { formsOf } from './secret-forms.ts'
import { endOfWholeEscapes, unescapeOnce, type View } from './unescape.ts'

/** Takes known secrets out of text on its way to a model, a store, a log or a channel. */
export interface Redactor {
  /**
   * From now on the secret is found as it stands and in the usual encodings. False where it is not: it is too short to be
   * told from other text, or a word that this program writes itself.
   */
  add(secret: string): boolean
  redact(text: string): string
  /** For text that is still coming: what is decided of it, and the rest, which may be the beginning of a secret. */
  redactBeginning(text: string): { redacted: string; rest: string }
}

const redactedMark = '[redacted]'
/** A JSON text inside a JSON text inside a request, and one more. */
const mostLevels = 4

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
        // Both halves of a pair too: they may be escaped one by one.
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
      // Half an escape may read as a whole one that means something else, and lead away from the secret it is part of.
      const views = viewsOf(text, (read) => read.slice(0, endOfWholeEscapes(read)))
      const places = joined(views.flatMap(findIn))
      const cut = cutBefore(Math.min(...views.map(findUndecided)), views, places)
      const decided = places.filter(({ end }) => end <= cut)
      return { redacted: without(text.slice(0, cut), decided), rest: text.slice(cut) }
    },
  }

  /** The text itself, then as it reads with one level of escapes undone after the other, as far as each is certain. */
  function viewsOf(text: string, certain: (text: string) => string): View[] {
    const views: View[] = [sourceView(certain(text))]
    for (const view of views) {
      const next = views.length <= mostLevels ? unescapeOnce(view, characters) : undefined
      if (next) views.push({ ...next.view, text: certain(next.view.text) })
      if (next?.isLast) break
    }
    return views
  }

  function findIn({ text, toSource }: View): Place[] {
    return index.find(text).map(({ start, end }) => ({ start: toSource(start, false), end: toSource(end, true) }))
  }

  function findUndecided({ text, toSource }: View): number {
    return toSource(index.findBeginning(text), false)
  }

  for (const secret of secrets) redactor.add(secret)
  return redactor
}

function sourceView(text: string): View {
  return { text, isSource: true, toSource: (index) => index, fromSource: (place) => place }
}

/** The nearest place that lies neither in an escape nor in a secret, which may still grow into another one. */
function cutBefore(place: number, views: readonly View[], places: readonly Place[]): number {
  const secret = places.find(({ start, end }) => start < place && place < end)
  const starts = views.map(({ toSource, fromSource }) => toSource(fromSource(place), true))
  const cut = Math.min(place, secret?.start ?? place, ...starts)
  return cut === place ? cut : cutBefore(cut, views, places)
}

/** In order, and one where they overlap: no end of one secret may stick out of another. */
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
