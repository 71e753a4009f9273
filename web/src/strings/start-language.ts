import { setLocale } from './format.ts'
import { type ChosenLanguage, directionOf, isChoice, languageFor, languages, localeFor } from './locale.ts'
import { withFallback } from './shape.ts'
import { setStrings } from './strings.ts'

/** The languages that lacked a string when the page was built (`vite.config.ts`). */
declare const INCOMPLETE_LANGUAGES: readonly string[]

const key = 'familiar.language'

/** The choice kept in this browser; undefined while the browser's own languages decide. */
export function storedLanguage(): ChosenLanguage | undefined {
  const stored = localStorage.getItem(key)
  return isChoice(stored) ? stored : undefined
}

/** Keeps the choice and reloads: modules hold strings of the language that they were loaded with. */
export function chooseLanguage(language: string): void {
  if (isChoice(language)) localStorage.setItem(key, language)
  else localStorage.removeItem(key)
  location.reload()
}

/** `?lang=` decides for one load, then the kept choice, then the browser. */
function wantedLanguage(): ChosenLanguage {
  const asked = new URLSearchParams(location.search).get('lang')
  return isChoice(asked) ? asked : (storedLanguage() ?? languageFor(navigator.languages))
}

/** Loads the catalog of the page's language. English is loaded beside it only where it lacks a string. */
export async function startLanguage(): Promise<void> {
  const chosen = wantedLanguage()
  const language = chosen === 'pseudo' ? 'en' : chosen
  setLocale(localeFor(language, navigator.languages))
  document.documentElement.lang = languages[language].tag
  document.documentElement.dir = directionOf(language)
  if (chosen === 'pseudo') {
    const [{ en }, { pseudo }] = await Promise.all([import('./en.ts'), import('./pseudo.ts')])
    setStrings(pseudo(en))
  } else if (INCOMPLETE_LANGUAGES.includes(language)) {
    const [{ en }, catalog] = await Promise.all([import('./en.ts'), languages[language].load()])
    setStrings(withFallback(en, catalog))
  } else setStrings((await languages[language].load()) as Parameters<typeof setStrings>[0])
}
