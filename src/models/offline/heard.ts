import type { Language } from '../../base/languages.ts'
import type { NoteLine } from './notes.ts'
import { tables } from './texts.ts'

/** A table of a language other than English. */
export type Foreign = Exclude<Language, 'en'>

/** Everything that is understood in one language, compiled from its table. */
export interface Hearing {
  /** The whole of the text is one of these. */
  whole(kind: Whole, text: Heard): boolean
  /** The part of the text that a form leaves open, as the user wrote it. Undefined if none matches. */
  open(kind: Open, text: Heard): string | undefined
  /** The text without a greeting or a courtesy in front. */
  withoutLead(text: Heard): { text: Heard; greeted: boolean }
}

type Table = (typeof tables)[Foreign]
type Whole =
  | 'greetings'
  | 'thanks'
  | 'nods'
  | 'help'
  | 'identity'
  | 'connect'
  | 'clock'
  | 'reminders'
  | 'notes'
  | 'undo'
  | 'questions'
type Open = 'remind' | 'remember' | 'about' | 'forget'

/** A text, and the same with plain letters, digits and apostrophes; both have the same length. */
export interface Heard {
  original: string
  plain: string
}

export function hear(text: string): Heard {
  const original = text.normalize('NFC').trim()
  return { original, plain: plainly(original) }
}

/**
 * Accents are often left out, and digits come from several scripts. Each unit stays one unit, so that what a pattern
 * finds can be cut from the original.
 */
export function plainly(text: string): string {
  return text.replaceAll(/[^\0-\x7f]/g, (unit) => {
    if (/[\u0660-\u0669]/.test(unit)) return String(unit.charCodeAt(0) - 0x660)
    if (/[\u06f0-\u06f9]/.test(unit)) return String(unit.charCodeAt(0) - 0x6f0)
    if (/[\uff01-\uff5e]/.test(unit)) return String.fromCharCode(unit.charCodeAt(0) - 0xfee0)
    if (/[‘’ʼ´]/.test(unit)) return "'"
    if (/[\u3000\u00a0\u202f]/.test(unit)) return ' '
    if (unit === 'ى') return 'ي'
    if (unit === 'ة') return 'ه'
    const [letter = unit] = unit.normalize('NFD')
    return letter.length === unit.length && /[\p{sc=Latin}\p{sc=Arabic}]/u.test(unit) ? letter : unit
  })
}

export function trimmed({ original, plain }: Heard): Heard {
  const start = plain.length - plain.replace(/^[\s¡¿"“„«「]+/u, '').length
  const rest = plain.slice(start).slice(0, 4_000)
  const marks = /[\s.!?…。！؟"”“»」،,、~～]+$/u.exec(rest.slice(-20))?.[0].length ?? 0
  const end = start + rest.length - marks
  return { original: original.slice(start, end), plain: plain.slice(start, end) }
}

// A longer sentence is a statement or a document, never one of these forms.
const maxLength = 500
const maxNoteLength = 2_000

function pattern(source: string, flags = 'diu'): RegExp {
  return new RegExp(plainly(source), `${flags}s`)
}

const compiled = new Map<Foreign, Hearing>()

export function hearingIn(language: Foreign): Hearing {
  const known = compiled.get(language)
  if (known) return known
  const hearing = compile(tables[language])
  compiled.set(language, hearing)
  return hearing
}

function compile(table: Table): Hearing {
  const isUnspaced = 'isUnspaced' in table
  const wholes = new Map<string, RegExp>()
  const opens = new Map<string, RegExp[]>()
  for (const [kind, source] of Object.entries(table.hear)) {
    if (Array.isArray(source))
      opens.set(
        kind,
        source.map((one) => pattern(`^(?:${one})$`)),
      )
    else wholes.set(kind, pattern(`^(?:${source})$`))
  }
  const border = isUnspaced ? '(?=[\\s,!.、，。！]|$)' : '(?![\\p{L}\\p{N}])'
  const politeBorder = isUnspaced ? '' : border
  const lead = pattern(
    `^(?:(?<greeting>${table.hear.greetings})${border}|(?:${table.hear.courtesies})${politeBorder})[\\s,:;!.、，。！،]*`,
  )

  return {
    whole: (kind, { plain }) => plain.length <= maxLength && wholes.get(kind)?.test(plain) === true,
    open(kind, { original, plain }) {
      if (plain.length > (kind === 'remember' ? maxNoteLength : maxLength)) return undefined
      for (const form of opens.get(kind) ?? []) {
        const found = form.exec(plain)
        if (!found) continue
        // Two open parts stand around the order: "tomorrow … remind me … to call".
        const parts = (found.indices ?? []).slice(1).flatMap((place) => (place ? [original.slice(...place)] : []))
        return parts.join(' ').trim()
      }
      return undefined
    },
    withoutLead(text) {
      let { original, plain } = text
      let greeted = false
      for (let round = 0; round < 4; round += 1) {
        const found = lead.exec(plain.slice(0, 200))
        if (!found || found[0] === '') break
        greeted ||= found.groups?.greeting !== undefined
        original = original.slice(found[0].length)
        plain = plain.slice(found[0].length)
      }
      return { text: { original, plain }, greeted }
    },
  }
}

interface Recalling {
  fillers: RegExp
  with: string
  self: RegExp
  another: RegExp
  topic: RegExp | undefined
}

const recalling = new Map<Foreign, Recalling>()

function recallingIn(language: Foreign): Recalling {
  const known = recalling.get(language)
  if (known) return known
  const table: Table = tables[language]
  const { fillers, self, another, ...more } = table.recall
  const border = 'isUnspaced' in table ? ['', ''] : ['(?<![\\p{L}\\p{N}])', '(?![\\p{L}\\p{N}])']
  const read = {
    fillers: pattern(`${border[0]}(?:${fillers})${border[1]}`, 'giu'),
    with: 'fillersWith' in more ? more.fillersWith : ' ',
    self: pattern(self),
    another: pattern(another),
    topic: 'topic' in more ? pattern(more.topic) : undefined,
  }
  recalling.set(language, read)
  return read
}

/**
 * The subject of a question: its words without those that every sentence of the language has, and whether a note can
 * answer it. A question about the user is not answered by a note about another person, even if the verb is the same.
 */
export function readSubject(
  question: string,
  language: Language,
): { subject: string; isAbout: (note: Pick<NoteLine, 'text' | 'kind'>) => boolean } {
  if (language === 'en') return { subject: question, isAbout: () => true }
  const { fillers, with: instead, self, another, topic } = recallingIn(language)
  const asked = plainly(question.slice(0, maxLength).normalize('NFC').trim())
  const subject = asked.replace(fillers, instead)
  const isOwn = self.test(asked)
  const named = isOwn ? undefined : topic?.exec(asked)?.[1]?.trim()
  return {
    subject: /[\p{L}\p{N}]/u.test(subject.replaceAll(instead, '')) ? subject : question,
    isAbout({ text, kind }) {
      if (kind !== 'note') return true
      const note = trimmed(hear(text.slice(0, 4_000)))
      // A passage of the conversation begins with the order to remember it.
      const told = plainly(hearingIn(language).open('remember', note) ?? note.original)
      if (isOwn && another.test(told) && !self.test(told)) return false
      return named === undefined || named === '' || told.includes(named)
    },
  }
}
