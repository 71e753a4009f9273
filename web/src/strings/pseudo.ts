import type { Strings } from './en.ts'

const accents: Readonly<Record<string, string>> = Object.fromEntries(
  [...'aàcçdðeéghiïjĵkķlĺmmnñoöprŕsštťuüwŵyýzž'.matchAll(/([a-z])([^a-z])/gu)].map(([, plain = '', accent = '']) => [
    plain,
    accent,
  ]),
)
/** Stands for an argument while the words around it are changed. */
const mark = (index: number) => String.fromCharCode(0xe000 + index)
const isMark = /[\ue000-\uf8ff]/

/** Accented and about 40 % longer, so that text that does not come from the catalog or does not fit is seen. */
export function lengthened(text: string): string {
  if (!/\p{L}/u.test(text)) return text
  // Code in backticks is typed as it is, and the name of the product is the same in every language.
  const parts = text.split(/(`[^`]*`|\bFamiliar\b)/)
  const changed = parts.map((part) =>
    part.startsWith('`') || part === 'Familiar'
      ? part
      : part.replaceAll(/[\p{L}’]+/gu, (word) => {
          const accented = word.replaceAll(/[a-z]/g, (letter) => accents[letter] ?? letter)
          const vowels = [...accented.matchAll(/[àéïöü]/g)].map(({ 0: vowel }) => vowel)
          const more = Math.ceil(word.length * 0.4)
          return word.length < 3 ? accented : accented + (vowels.join('') || 'é').repeat(more).slice(0, more)
        }),
  )
  return changed.join('')
}

/** Arguments are names and numbers: only the words of the catalog change. */
function spoken(sentence: (...args: unknown[]) => unknown) {
  const kept: string[] = []
  const hide = (value: unknown): unknown => {
    if (typeof value === 'string' && value !== '') return mark(kept.push(value) - 1)
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, hide(one)]))
    return value
  }
  const said = (...args: unknown[]) => {
    kept.length = 0
    const text = String(sentence(...args.map(hide)))
    const parts = text.split(new RegExp(`(${isMark.source})`))
    return parts
      .map((part) => (isMark.test(part) ? (kept[part.charCodeAt(0) - 0xe000] ?? part) : lengthened(part)))
      .join('')
  }
  return Object.defineProperty(said, 'length', { value: sentence.length })
}

function pseudoOf(part: unknown): unknown {
  if (typeof part === 'string') return lengthened(part)
  if (typeof part === 'function') return spoken(part as (...args: unknown[]) => unknown)
  if (Array.isArray(part)) return part.map(pseudoOf)
  return Object.fromEntries(Object.entries(part as object).map(([key, value]) => [key, pseudoOf(value)]))
}

/** English made strange: shown with `?lang=pseudo`, and by the test that looks for text that is cut. */
export const pseudo = (english: Strings): Strings => pseudoOf(english) as Strings
