import { parseAnyJson } from '../../base/json.ts'
import { readDates } from '../../memory/dates.ts'
import { type Fact, factVerbs, readFact } from '../../memory/facts.ts'
import { attributeKey } from '../../memory/words.ts'
import type { ToolResult } from '../../protocol/messages.ts'
import phrases from './phrases.json' with { type: 'json' }
import { inEnglish, type Texts } from './texts.ts'

/** The content of the note as a sentence for the user. */
export function noteText(note: NoteLine, passage = note.text): string {
  if (note.kind === 'commitment') return debtSentence(note.text)
  const fact = note.kind === 'fact' ? readFact(note.text) : undefined
  return fact ? factSentence(fact) : passage
}

/** As the answer itself: in the user's words, with source, date and citation. */
export function tellNote(note: NoteLine, texts: Texts, passage?: string): string {
  const text = noteText(note, passage)
  const { citation } = note
  const date = dateIn(note, texts)
  // An indexed file is named and quoted: the user knows best how reliable it is.
  if (note.isUntrusted && note.place === undefined) return texts.untrusted(text, date, citation)
  if (note.until !== undefined) return texts.history(text, note.until, citation)
  if (note.kind === 'fact') return texts.fact(text, date, citation)
  if (note.kind === 'commitment') return texts.promise(text, note.due ?? '', citation)
  if (note.place !== undefined) return texts.fileSays(text, note.place, citation)
  if (note.speaker === 'assistant') return texts.iSaid(text, date, citation)
  return texts.toldOn(text, date, citation)
}

/** The day of the note as the language writes it. */
export function dateIn(note: NoteLine, texts: Texts): string {
  return texts.dateOf(note.day) ?? note.date
}

/** As one of several. */
export function listNote(note: NoteLine, texts: Texts, passage?: string): string {
  const text = noteText(note, passage)
  const date = dateIn(note, texts)
  if (note.kind === 'commitment') return `- ${texts.promise(text, note.due ?? '', note.citation)}`
  const source = note.isUntrusted && note.place === undefined ? `${texts.fromOthers}, ${date}` : (note.place ?? date)
  return texts.listed(text, note.until === undefined ? source : `until ${note.until}`, note.citation)
}

const verbs = new Map([...factVerbs, ['age', ['are', 'is']]])

/** A fact as a sentence: "Anna’s birthday is 5 May", "You live in Rome". Without a period. */
export function factSentence({ entity, attribute, value }: Pick<Fact, 'entity' | 'attribute' | 'value'>): string {
  const isUser = entity === 'user'
  const forms = verbs.get(attributeKey(attribute))
  if (forms) return `${isUser ? 'You' : entity} ${forms[isUser ? 0 : 1]} ${value}`
  return `${isUser ? 'Your' : `${entity}’s`} ${attribute} is ${value}`
}

/** `user owes Anna: send the photos` as a sentence. */
function debtSentence(text: string): string {
  const match = /^(.{1,200}?) owes(?: (.{1,200}?))?: /.exec(text)
  if (!match) return text
  const [all, who = '', to] = match
  const what = text.slice(all.length).replace(/, by \d{4}-\d{2}-\d{2}/, '')
  const owes = who === 'user' ? 'You owe' : `${who} owes`
  return to === undefined ? `${owes}: ${what}` : `${owes} ${to === 'user' ? 'you' : to}: ${what}`
}

const untrusted = { opening: '<untrusted>', closing: '</untrusted>' }

/** The text without the markup for language models: `[TOOL:name]…[/TOOL]`, `<untrusted>…</untrusted>`. */
export function withoutWrapping(result: ToolResult): string {
  const text = inside(result.text.trim(), untrusted)
  return inside(text, { opening: `[TOOL:${result.name}]`, closing: '[/TOOL]' })
}

function inside(text: string, { opening, closing }: { opening: string; closing: string }): string {
  const start = text.startsWith(opening) ? opening.length : 0
  return text.slice(start, text.endsWith(closing) ? -closing.length : undefined).trim()
}

/** One memory in the answer of a tool. */
export interface NoteLine {
  id: string
  /** `[memory:ID]`, to be repeated unchanged. */
  citation: string
  /** `2026-11-15`; empty if none was given. */
  day: string
  /** `15 November 2026`. */
  date: string
  kind: 'note' | 'fact' | 'episode' | 'commitment'
  /** For a passage: the file and its lines, `trip.md:12-18`. */
  place: string | undefined
  speaker: string | undefined
  /** For a commitment: `due 20 November 2026`, `open`, `done`. */
  due: string | undefined
  /** The day from which it was no longer true. */
  until: string | undefined
  isUntrusted: boolean
  tags: readonly string[]
  text: string
}

const head = /^\[memory:([\w-]{1,64})\]/
const isoDate = /\d{4}-\d{2}-\d{2}/
const kinds = ['fact', 'episode', 'commitment'] as const
const noteLinesUntrusted = '[untrusted] '
const isPlace = /^in .+:\d+(?:-\d+)?$/
const maxMarksLength = 600

/** The memories in the answer of a tool: a line that begins with a citation, and the indented lines below it. */
export function readNoteLines(result: ToolResult): NoteLine[] {
  const notes: NoteLine[] = []
  for (const line of withoutWrapping(result).split('\n')) {
    const note = readHeadLine(line)
    const last = notes.at(-1)
    if (note) notes.push(note)
    else if (last && line.startsWith('  ')) last.text += `\n${line.slice(2)}`
  }
  return notes
}

/** The first citation in the answer of `store_memory`; empty if there is none. */
export function readCitation(result: ToolResult): string {
  const start = result.text.indexOf('[memory:')
  return start < 0 ? '' : (head.exec(result.text.slice(start, start + 80))?.[0] ?? '')
}

/** The first date in the text, `2026-11-15`. */
export function readDay(text: string): string | undefined {
  return isoDate.exec(text)?.[0]
}

/** `15 November 2026` for the first date in the text; undefined if there is none. */
function readDate(text: string): string | undefined {
  return inEnglish.dateOf(readDay(text) ?? '')
}

function readHeadLine(line: string): NoteLine | undefined {
  const [citation, id = ''] = head.exec(line) ?? []
  if (citation === undefined) return undefined
  const rest = line.slice(citation.length).trimStart()
  const date = readDate(rest.slice(0, 10))
  const dated = date === undefined ? rest : rest.slice(10).trimStart()
  const isUntrusted = dated.startsWith(noteLinesUntrusted)
  const { marks, text } = readMarks(isUntrusted ? dated.slice(noteLinesUntrusted.length) : dated)
  return {
    id,
    citation,
    day: date === undefined ? '' : rest.slice(0, 10),
    date: date ?? 'an unknown day',
    isUntrusted,
    text: isUntrusted ? unquote(text) : text,
    ...sortMarks(marks),
  }
}

function sortMarks(marks: readonly string[]): Pick<NoteLine, 'kind' | 'place' | 'speaker' | 'due' | 'until' | 'tags'> {
  const kind = kinds.find((name) => marks.includes(name)) ?? 'note'
  const after = (opening: string) => marks.find((mark) => mark.startsWith(opening))?.slice(opening.length)
  const due = marks.find((mark) => /^(?:due \d|overdue since \d|open$|done$|cancelled$)/.test(mark))
  const until = after('until ')
  return {
    kind,
    until: until === undefined ? undefined : readDate(until),
    due: kind === 'commitment' && due !== undefined ? due.replace(isoDate, (day) => readDate(day) ?? day) : undefined,
    tags: after('tags: ')?.split(', ') ?? [],
    place: marks.find((mark) => isPlace.test(mark))?.slice('in '.length),
    speaker: after('said by '),
  }
}

/** `(fact; until 2026-12-01; tags: a, b) ` before the text. Unknown marks belong to the text. */
function readMarks(rest: string): { marks: string[]; text: string } {
  const end = rest.slice(0, maxMarksLength).indexOf(') ')
  if (!rest.startsWith('(') || end < 0) return { marks: [], text: rest }
  const marks = rest.slice(1, end).split('; ')
  const isMark = (mark: string) =>
    (kinds as readonly string[]).includes(mark) ||
    isPlace.test(mark) ||
    /^(?:tags: |title: |until \d|due \d|overdue since \d|said by |from (?:agent|extracted|import|tool|user)$)/.test(
      mark,
    ) ||
    (marks.includes('commitment') && ['open', 'done', 'cancelled'].includes(mark))
  return marks.every(isMark) ? { marks, text: rest.slice(end + 2) } : { marks: [], text: rest }
}

function unquote(text: string): string {
  const value = parseAnyJson(text)
  return value.ok && typeof value.value === 'string' ? value.value : text
}

/** A question about a fact, recognized by the form of the sentence. */
export interface AskedFact {
  /** `user`, or the person in the question. */
  about: string
  /** The names under which it may be stored. */
  attributes: readonly string[]
  /** It asks for an earlier value. */
  history: boolean
}

const maxQuestionLength = 200
const maxAttributeLength = 40

const forms = Object.entries(phrases.factForms).map(([form, attributes]) => {
  return { pattern: new RegExp(`^${form.replace('WHOM', '(.{1,80}?)')}$`, 'i'), attributes }
})
const plain = /^(?:what|when|where|who|which)(?:'s| is| are| was| were) (.+)$/i
const earlier = / (?:before(?: that)?|previously|formerly|in the past|back then)$/i
const old = /^(?:old|previous|former|earlier) /i

export function readFactQuestion(request: string): AskedFact | undefined {
  if (request.length > maxQuestionLength) return undefined
  const asked = withoutDates(request.replaceAll('’', "'").replace(/[?!.\s]+$/, ''))
  const text = asked.replace(earlier, '').replace(/ (?:now|today|again|currently)$/i, '')
  const isEarlier = earlier.test(asked)
  for (const { pattern, attributes } of forms) {
    const named = pattern.exec(text)?.[1]
    if (named !== undefined) return { about: entityOf(named), attributes, history: isEarlier }
  }
  const owned = readOwned(plain.exec(text)?.[1] ?? '')
  if (!owned) return undefined
  const attribute = owned.attribute.replace(old, '').toLowerCase()
  return { about: owned.about, attributes: namesOf(attribute), history: isEarlier || old.test(owned.attribute) }
}

/** "my address", "Anna's birthday", "my sister's birthday", "the birthday of Anna". */
function readOwned(text: string): { about: string; attribute: string } | undefined {
  const split = Math.max(text.lastIndexOf("'s "), text.lastIndexOf("s' "))
  const called = /^my (.{1,40}) (?:called|named)$/i.exec(text)?.[1]
  if (called !== undefined) return { about: 'user', attribute: called }
  if (split > 0) {
    const about = text.slice(0, text.startsWith("s' ", split) ? split + 1 : split)
    const attribute = text.slice(split + 3)
    const relation = /^my (.{1,40})$/i.exec(about)?.[1]
    // The name of the user's wife is the value of the fact "wife".
    if (relation !== undefined && /^(?:first |full )?name$/i.test(attribute)) {
      return { about: 'user', attribute: relation }
    }
    return checked({ about: entityOf(about), attribute })
  }
  const own = /^my (.+)$/i.exec(text)?.[1]
  if (own !== undefined) return checked({ about: 'user', attribute: own })
  const [, attribute, about] = /^the (.{1,40}) of (.{1,80})$/i.exec(text) ?? []
  return attribute !== undefined && about !== undefined ? checked({ about: entityOf(about), attribute }) : undefined
}

function checked(owned: { about: string; attribute: string }) {
  const { about, attribute } = owned
  return about !== '' && attribute.length <= maxAttributeLength && !/[,;:]/.test(about + attribute) ? owned : undefined
}

export function entityOf(named: string): string {
  const name = named.trim()
  return /^(?:i|me|myself|we|us)$/i.test(name) ? 'user' : name
}

function namesOf(attribute: string): string[] {
  const groups = phrases.attributeSynonyms
  const group = groups.find(([first]) => first === attribute) ?? groups.find((names) => names.includes(attribute))
  const spellings = [attribute, swap(attribute)]
  return [...new Set([...spellings, ...(group ?? [])])]
}

function swap(attribute: string): string {
  if (/favorite|color/.test(attribute)) return attribute.replace('favorite', 'favourite').replace('color', 'colour')
  return attribute.replace('favourite', 'favorite').replace('colour', 'color')
}

/** "my address in May" asks for an address. */
function withoutDates(text: string): string {
  const match = /^(.+?) (?:(?:in|on|during|last|this|since) .{1,40}|yesterday|today)$/i.exec(text)
  if (match?.[1] === undefined) return text
  return readDates(text.slice(match[1].length), 0, 'UTC') ? match[1] : text
}
