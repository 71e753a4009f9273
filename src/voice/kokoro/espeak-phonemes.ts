import type { LanguageLetter } from './languages.ts'

/** Sounds of espeak-ng (`--ipa --tie=^`) as the model was taught to read them. The longer ones go first. */
const everywhere: readonly [RegExp, string][] = [
  [/a\^ɪ/g, 'I'],
  [/a\^ʊ/g, 'W'],
  [/d\^z/g, 'ʣ'],
  [/d\^ʒ/g, 'ʤ'],
  [/e\^ɪ/g, 'A'],
  [/o\^ʊ/g, 'O'],
  [/ə\^ʊ/g, 'Q'],
  [/t\^s/g, 'ʦ'],
  [/t\^ʃ/g, 'ʧ'],
  [/ɔ\^ɪ/g, 'Y'],
]

const english: readonly [RegExp, string][] = [
  [/ʔˌ?n\u0329?/g, 'tᵊn'],
  [/ʔ/g, 't'],
  [/ə\^l/g, 'ᵊl'],
  [/ʲ(?=[oə])/g, 'j'],
  [/ʲ/g, ''],
  [/(\S)\u0329/g, 'ᵊ$1'],
  [/ɚ/g, 'əɹ'],
  [/r/g, 'ɹ'],
  [/[xç]/g, 'k'],
  [/ɬ/g, 'l'],
  [/ɐ/g, 'ə'],
  [/\u0303/g, ''],
]

const american: readonly [RegExp, string][] = [
  [/ɜːɹ?/g, 'ɜɹ'],
  [/ɪə/g, 'iə'],
  [/e(?!\^)/g, 'A'],
  [/ː/g, ''],
]

const british: readonly [RegExp, string][] = [
  [/e\^ə/g, 'ɛː'],
  [/iə/g, 'ɪə'],
  [/e(?!\^)/g, 'A'],
]

const ofLanguage: Partial<Record<LanguageLetter, readonly [RegExp, string][]>> = {
  a: [...english, ...american],
  b: [...english, ...british],
}

export function toModelPhonemes(spoken: string, language: LanguageLetter): string {
  const rules = [...everywhere, ...(ofLanguage[language] ?? [])]
  return rules
    .reduce((phonemes, [pattern, replacement]) => phonemes.replace(pattern, replacement), spoken)
    .replace(/[\^_-]|\u200d|\(.*?\)/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}
