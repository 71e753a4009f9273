import tables from './languages.json' with { type: 'json' }

/** The languages that Familiar answers in where no language model speaks. English is used for every other one. */
export const languages = ['en', 'de', 'es', 'fr', 'zh', 'ja', 'ar'] as const
export type Language = (typeof languages)[number]

export function isLanguage(value: unknown): value is Language {
  return (languages as readonly unknown[]).includes(value)
}

/** `de` for `de-AT`, `zh` for `zh_Hant-TW`. Undefined for a language that Familiar does not speak, and for any other text. */
export function languageOfTag(tag: unknown): Language | undefined {
  if (typeof tag !== 'string') return undefined
  const [, code] = /^([a-z]{2})(?:[-_.@]|$)/i.exec(tag.trim()) ?? []
  const language = code?.toLowerCase()
  return isLanguage(language) ? language : undefined
}

// The beginning says enough, and a pasted document costs no more than a sentence.
const readCharacters = 600
const word = /[\p{L}\p{M}]+(?:['’][\p{L}\p{M}]+)*/gu

const letters = Object.entries(tables.letters).map(([code, source]) => ({ code, pattern: new RegExp(source, 'giu') }))
const lists = Object.entries({ ...tables.words, ...tables.others }).map(([code, words]) => {
  return { code, words: new Set(words.split(' ')) }
})

/**
 * The language that a text is written in, by its script and its most common words. Undefined if that is unclear, or if
 * Familiar does not speak it.
 */
export function readLanguage(text: string): Language | undefined {
  const said = text.slice(0, readCharacters).normalize('NFC')
  const script = readScript(said)
  return script === 'Latin' ? readLatin(said) : script
}

/** The script with the most letters decides: a foreign name does not change the language. */
function readScript(text: string): Language | 'Latin' | undefined {
  const count = (pattern: RegExp) => text.match(pattern)?.length ?? 0
  const kana = count(/[\p{sc=Hiragana}\p{sc=Katakana}]/gu)
  const han = count(/\p{sc=Han}/gu)
  const arabic = count(/\p{sc=Arabic}/gu)
  const latin = count(/\p{sc=Latin}/gu)
  const others = count(/\p{L}/gu) - kana - han - arabic - latin
  // One Chinese character says about as much as three letters.
  const eastAsian = (kana + han) * 3
  const most = Math.max(eastAsian, arabic, latin, others)
  if (most === 0 || most === others) return undefined
  if (most === eastAsian) return kana > 0 ? 'ja' : 'zh'
  if (most === latin) return 'Latin'
  // Persian and Urdu have letters of their own.
  return /[پچژگکیےٹڈڑ]/.test(text) ? undefined : 'ar'
}

function readLatin(text: string): Language | undefined {
  const words = (text.toLowerCase().match(word) ?? []).map((found) => found.replaceAll('’', "'"))
  const scores = new Map<string, number>()
  const add = (code: string, by: number) => by > 0 && scores.set(code, (scores.get(code) ?? 0) + by)
  for (const { code, words: known } of lists) add(code, words.filter((found) => known.has(found)).length)
  for (const { code, pattern } of letters) add(code, Math.min(2, text.match(pattern)?.length ?? 0))
  const [first, second] = [...scores].sort(([, one], [, other]) => other - one)
  if (!first || first[1] === second?.[1]) return undefined
  return isLanguage(first[0]) ? first[0] : undefined
}

/** The language of the first text that shows one, from the newest on; English if none does. */
export function languageOfTexts(newestFirst: Iterable<string>): Language {
  for (const text of newestFirst) {
    const language = readLanguage(text)
    if (language !== undefined) return language
  }
  return 'en'
}
