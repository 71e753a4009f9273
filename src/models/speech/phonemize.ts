import { findProgram, type RunChild } from '../../base/processes.ts'
import phonemeRules from './phoneme-rules.json' with { type: 'json' }

type Phonemes = { ok: true; sentences: string[] } | { ok: false; reason: string }

export interface Machine {
  runChild: RunChild
  searchPath: string
}

/** The model's limit is 510; longer sentences are split. */
const maxInSentence = 400
const limits = { wallMs: 10_000, outputBytes: 1024 * 1024 }

export function findEspeak({ searchPath }: Machine): Promise<string | undefined> {
  return findProgram(['espeak-ng'], searchPath)
}

/**
 * The pronunciation of a text, sentence by sentence. The text is passed by standard input, so it cannot act as an
 * option.
 */
export async function phonemize(
  machine: Machine,
  { text, voice, signal }: { text: string; voice: string; signal: AbortSignal },
): Promise<Phonemes> {
  const program = await findEspeak(machine)
  if (program === undefined) return { ok: false, reason: noEspeak }
  const language = languageOf(voice)
  const sentences: string[] = []
  for (const clauses of splitText(text)) {
    let sentence = ''
    for (const { words, mark } of clauses) {
      const { end, stdout } = await machine.runChild({
        argv: [program, '-q', '--ipa', '--tie=^', '-v', languages[language].espeak, '--stdin'],
        environment: { PATH: machine.searchPath, LANG: 'C.UTF-8' },
        workingDirectory: '/',
        stdin: Buffer.from(words),
        limits,
        signal,
      })
      if (end.kind !== 'exited' || end.code !== 0) return { ok: false, reason: 'espeak-ng could not read the text.' }
      const phonemes = `${toModelPhonemes(Buffer.from(stdout).toString('utf8'), language)}${mark}`
      if (sentence.length + phonemes.length > maxInSentence) {
        sentences.push(sentence)
        sentence = phonemes
      } else sentence = sentence === '' ? phonemes : `${sentence} ${phonemes}`
    }
    sentences.push(sentence)
  }
  return { ok: true, sentences: sentences.filter((sentence) => /\p{L}/u.test(sentence)) }
}

export const noEspeak =
  'The local voice needs espeak-ng for pronunciation (Debian, Ubuntu: sudo apt-get install ' +
  'espeak-ng; macOS: brew install espeak-ng).'

const { everywhere, english, american, british } = phonemeRules
const ofLanguage: Partial<Record<LanguageLetter, object>> = {
  a: { ...english, ...american },
  b: { ...english, ...british },
}

/** Maps espeak-ng's sounds (`--ipa --tie=^`) to those of the model. Longer ones first. */
export function toModelPhonemes(spoken: string, language: LanguageLetter): string {
  const rules = [...Object.entries(everywhere), ...Object.entries<string>({ ...ofLanguage[language] })]
  return rules
    .reduce((phonemes, [pattern, replacement]) => phonemes.replace(new RegExp(pattern, 'g'), replacement), spoken)
    .replace(/[\^_-]|\u200d|\(.*?\)/g, '')
    .replace(/\s+/g, ' ')
    .trim()
}

/** The espeak-ng language of each language, and its Kokoro voices by the first letter of their names. */
const languages = {
  a: { espeak: 'en-us', code: 'en' },
  b: { espeak: 'en-gb', code: 'en' },
  e: { espeak: 'es', code: 'es' },
  f: { espeak: 'fr-fr', code: 'fr' },
  h: { espeak: 'hi', code: 'hi' },
  i: { espeak: 'it', code: 'it' },
  p: { espeak: 'pt-br', code: 'pt' },
} as const

type LanguageLetter = keyof typeof languages

function languageOf(voice: string): LanguageLetter {
  const [letter = ''] = voice
  return letter in languages ? (letter as LanguageLetter) : 'a'
}

/** The language that a Kokoro voice was made for. */
export function languageOfVoice(voice: string): string {
  return languages[languageOf(voice)].code
}

/** A run of words and the mark that follows it. */
interface Clause {
  words: string
  /** One of the model's marks, or empty. */
  mark: string
}

const marks: Record<string, string> = {
  '。': '.',
  '、': ',',
  '，': ',',
  '；': ';',
  '：': ':',
  '！': '!',
  '？': '?',
  '–': '—',
}
/** The period of these does not end a sentence. */
const shortened = /(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|vs|e\.g|i\.e|approx)$/i
const maxClauseLength = 200

/** Sentences, each in clauses. No clause is longer than the model's limit, whatever the text. */
export function splitText(text: string): Clause[][] {
  const sentences: Clause[][] = []
  let clauses: Clause[] = []
  for (const clause of clausesOf(text)) {
    clauses.push(clause)
    if (!/[.!?…]/.test(clause.mark)) continue
    sentences.push(clauses)
    clauses = []
  }
  return clauses.length > 0 ? [...sentences, clauses] : sentences
}

function clausesOf(text: string): Clause[] {
  const clauses: Clause[] = []
  let words = ''
  // Marks count at an end only: not in "3.14", "10:30" or "e.g.".
  for (const [, run = '', mark = ''] of ofOneLine(text).matchAll(/(.*?)(\.{3}|[.,;:!?…—]+(?=[\s"'”’)\]]|$)|$)/gu)) {
    words += run
    if (mark === '.' && shortened.test(words)) words += mark
    else {
      add(words, mark)
      words = ''
    }
  }
  add(words, '')
  return clauses

  function add(given: string, mark: string): void {
    const pieces = cut(given.trim())
    for (const [index, piece] of pieces.entries()) {
      clauses.push({
        words: piece,
        mark: index === pieces.length - 1 ? (mark === '...' ? '…' : mark.slice(0, 1)) : ',',
      })
    }
  }
}

/** Ends of paragraphs and list items also end a sentence. */
function ofOneLine(text: string): string {
  return text
    .replace(/[。、，；：！？–]/g, (mark) => `${marks[mark] ?? mark} `)
    .replace(/([^\s.!?…,;:—])[ \t]*\n\s*/g, '$1. ')
    .replace(/\s+/g, ' ')
}

function cut(words: string): string[] {
  if (!/[\p{L}\p{N}]/u.test(words)) return []
  const pieces: string[] = []
  let rest = words
  while (rest.length > maxClauseLength) {
    const space = rest.lastIndexOf(' ', maxClauseLength)
    const until = space > 0 ? space : maxClauseLength
    pieces.push(rest.slice(0, until))
    rest = rest.slice(until).trim()
  }
  return rest === '' ? pieces : [...pieces, rest]
}
