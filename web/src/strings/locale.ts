import type { Strings } from './en.ts'

/** A catalog. A string that it lacks is shown in English. */
export type Catalog<T = Strings> = {
  [Key in keyof T]?: T[Key] extends (...args: never) => unknown
    ? T[Key]
    : T[Key] extends readonly unknown[]
      ? T[Key]
      : T[Key] extends object
        ? Catalog<T[Key]>
        : T[Key]
}

/** The languages of the page with their own names. Each catalog is a chunk that is loaded only when its language is chosen. */
export const languages = {
  en: { name: 'English', tag: 'en', load: async (): Promise<Catalog> => (await import('./en.ts')).en },
  de: { name: 'Deutsch', tag: 'de', load: async (): Promise<Catalog> => (await import('./de.ts')).de },
  es: { name: 'Español', tag: 'es', load: async (): Promise<Catalog> => (await import('./es.ts')).es },
  fr: { name: 'Français', tag: 'fr', load: async (): Promise<Catalog> => (await import('./fr.ts')).fr },
  zh: { name: '简体中文', tag: 'zh-Hans', load: async (): Promise<Catalog> => (await import('./zh.ts')).zh },
  ja: { name: '日本語', tag: 'ja', load: async (): Promise<Catalog> => (await import('./ja.ts')).ja },
  ar: { name: 'العربية', tag: 'ar', load: async (): Promise<Catalog> => (await import('./ar.ts')).ar },
} as const

export type Language = keyof typeof languages
/** `pseudo` is English with accents and longer words: a screen that holds it holds every language. */
export type ChosenLanguage = Language | 'pseudo'

const isLanguage = (text: string | null | undefined): text is Language =>
  typeof text === 'string' && Object.hasOwn(languages, text)
export const isChoice = (text: string | null): text is ChosenLanguage => text === 'pseudo' || isLanguage(text)

/** The language that the browser asks for first among those of the page. */
export function languageFor(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const [language] = tag.toLowerCase().split(/[-_]/)
    if (isLanguage(language)) return language
  }
  return 'en'
}

/**
 * The locale for numbers and dates: the browser's own variant of the language where it has one. Arabic gets the digits of the
 * numbers in its sentences.
 */
export function localeFor(language: Language, wanted: readonly string[]): string {
  const own = wanted.find((tag) => languageFor([tag]) === language && tag.toLowerCase().startsWith(language))
  const locale = language === 'zh' ? 'zh-Hans' : (own ?? language)
  return language === 'ar' ? `${new Intl.Locale(locale).baseName}-u-nu-latn` : locale
}

export const directionOf = (language: ChosenLanguage) => (language === 'ar' ? 'rtl' : 'ltr')
