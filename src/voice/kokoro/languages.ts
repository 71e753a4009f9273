/** How the words of a language are asked of espeak-ng, and which voices of Kokoro speak it, by the first letter of their names. */
export const languages = {
  a: { espeak: 'en-us', name: 'American English' },
  b: { espeak: 'en-gb', name: 'British English' },
  e: { espeak: 'es', name: 'Spanish' },
  f: { espeak: 'fr-fr', name: 'French' },
  h: { espeak: 'hi', name: 'Hindi' },
  i: { espeak: 'it', name: 'Italian' },
  p: { espeak: 'pt-br', name: 'Brazilian Portuguese' },
} as const

export type LanguageLetter = keyof typeof languages

export function languageOf(voice: string): LanguageLetter {
  const [letter = ''] = voice
  return letter in languages ? (letter as LanguageLetter) : 'a'
}
