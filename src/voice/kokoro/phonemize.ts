import { findProgram } from '../../base/find-program.ts'
import type { RunChild } from '../../base/run-child.ts'
import { toModelPhonemes } from './espeak-phonemes.ts'
import { languageOf, languages } from './languages.ts'
import { splitText } from './split-text.ts'

export type Phonemes = { ok: true; sentences: string[] } | { ok: false; reason: string }

export interface Machine {
  runChild: RunChild
  /** Where programs are looked for. */
  searchPath: string
}

/** The model reads 510 at once; what comes near it is said in two. */
const mostInSentence = 400
const limits = { wallMs: 10_000, outputBytes: 1024 * 1024 }

export function findEspeak({ searchPath }: Machine): Promise<string | undefined> {
  return findProgram(['espeak-ng'], searchPath)
}

/** How a text is spoken, sentence by sentence. The words go in by standard input: none can be taken for an option. */
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
      if (sentence.length + phonemes.length > mostInSentence) {
        sentences.push(sentence)
        sentence = phonemes
      } else sentence = sentence === '' ? phonemes : `${sentence} ${phonemes}`
    }
    sentences.push(sentence)
  }
  return { ok: true, sentences: sentences.filter((sentence) => /\p{L}/u.test(sentence)) }
}

export const noEspeak =
  'The voice on this machine needs espeak-ng to know how words are spoken (Debian, Ubuntu: sudo apt-get install ' +
  'espeak-ng; macOS: brew install espeak-ng).'
