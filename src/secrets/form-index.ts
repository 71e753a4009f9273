/** A part of a text, up to `end` and without it. */
export interface Place {
  start: number
  end: number
}

/** Many texts that are looked for in others, all at once. */
export interface FormIndex {
  /** Of `shortestForm` characters at least. */
  add(form: string): void
  isEmpty(): boolean
  /** Every place where a form stands, in no order; they may overlap. */
  find(text: string): Place[]
  /** Where the longest end of the text begins that a form could go on from; its length where none could. */
  findBeginning(text: string): number
}

export const shortestForm = 8
const gramLength = 4
// A form that stands anywhere has a gram of its first eight characters at one of every five places.
const stride = shortestForm - gramLength + 1
const slots = 1 << 18

/**
 * Looks at every fifth place of a text only, at four characters there: whether they are among the first of a form. So a
 * text costs the same with one form as with ten thousand, a nanosecond or two for each character.
 */
export function createFormIndex(): FormIndex {
  const forms = new Set<string>()
  const marked = new Uint8Array(slots)
  const byGram = new Map<number, { form: string; offset: number }[]>()
  const firstCharacters = new Set<number>()
  let sorted: string[] | undefined
  let longest = 0

  return {
    add(form) {
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
    find(text) {
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
    findBeginning(text) {
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

/** Whether a form begins with the text and is longer. */
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
