import { z } from 'zod'
import { type Clock, dayOf, formatDay } from '../../base/clock.ts'
import { truncateText } from '../../base/text.ts'
import { type Commitment, commitmentBeginning } from '../../memory/commitments.ts'
import { type DateRange, matchDates, readDates } from '../../memory/dates.ts'
import type { Fact } from '../../memory/facts.ts'
import type { FamiliarMemory } from '../../memory/familiar-memory.ts'
import { citePlace, type FilePlace } from '../../memory/files/index-files.ts'
import type { Memory, MemoryKind, MemoryLabel } from '../../memory/memory.ts'
import { bestPassage, contentWords, countWords, entityKey, foldedWords } from '../../memory/words.ts'
import { defineTool, failed, succeeded, type Tool, type ToolOutcome } from '../tool.ts'

export interface ShownMemory {
  id: string
  at: number
  text: string
  /** For a passage: the length of the whole text. */
  wholeLength?: number | undefined
  kind?: MemoryKind | undefined
  label?: MemoryLabel | undefined
  title?: string | null | undefined
  tags?: readonly string[] | undefined
  /** The time from which it was no longer true. */
  until?: number | null | undefined
  /** `in trip.md:12-18`, or who said it. */
  origin?: string | undefined
  due?: string | undefined
}

export interface FoundMemory extends Memory {
  wholeLength?: number | undefined
}

/** The result of a tool that shows memories: private, and untrusted if one of them is. */
export function tellMemories(text: string, told: readonly Pick<ShownMemory, 'label'>[]): ToolOutcome {
  const isUntrusted = told.some(({ label }) => label === 'untrusted')
  return { text, isError: false, isPrivate: true, ...(isUntrusted && { label: 'untrusted' }) }
}

export function citeMemory(id: string): string {
  return `[memory:${id}]`
}

/** The id in `[memory:ID]`, `memory:ID` or `ID`: models copy the citation as often as the id. */
export function readMemoryId(text: string): string {
  const trimmed = text.trim()
  const cited = trimmed.startsWith('[') && trimmed.endsWith(']') ? trimmed.slice(1, -1) : trimmed
  return cited.startsWith('memory:') ? cited.slice('memory:'.length) : cited
}

/** For a memory that does not exist or belongs to another user, without distinction. */
export function noSuchMemory(named: string): string {
  return `There is no memory with the id or title ${named.slice(0, 80).toWellFormed()}.`
}

export function toShownMemory(memory: FoundMemory, place?: FilePlace): ShownMemory {
  const { id, kind, label, title, tags, wholeLength, createdAt: at, content: text, supersededAt: until } = memory
  const origin = place ? `in ${citePlace(place)}` : originOf(memory)
  return { id, kind, label, title, tags, wholeLength, origin, at, text, until }
}

function originOf({ speaker, label, source }: Memory): string | undefined {
  if (speaker !== null) return `said by ${speaker}`
  return label === 'untrusted' ? `from ${source}` : undefined
}

/**
 * A memory for a model: `[memory:ID] 2026-11-15 (fact; until 2026-12-01; tags: home) text`, with the brackets only if
 * needed. Further lines are indented, so that no memory's text can imitate another one; untrusted text is quoted and
 * cannot end its quotes.
 */
export function renderMemory(memory: ShownMemory, timeZone: string): string {
  const marks = marksOf(memory, timeZone)
  const head = `${citeMemory(memory.id)} ${formatDate(memory.at, timeZone)}`
  if (memory.label === 'untrusted') return `${head} [untrusted] ${marks}${JSON.stringify(memory.text)}`
  return `${head} ${marks}${memory.text.replaceAll(lineBreak, '\n  ')}`
}

export function formatDate(time: number, timeZone: string): string {
  return formatDay(dayOf(time, timeZone))
}

const lineBreak = /\r\n|[\r\n\u2028\u2029]/g

function marksOf({ kind, title, tags = [], until, origin, due }: ShownMemory, timeZone: string): string {
  const marks: string[] = []
  // A note is the default kind, and a passage's origin is enough.
  if (kind && kind !== 'note' && kind !== 'chunk') marks.push(kind)
  if (origin) marks.push(origin.replaceAll(/\s+/g, ' '))
  if (due) marks.push(due)
  if (until) marks.push(`until ${formatDate(until, timeZone)}`)
  // A passage's title is its heading.
  if (title && kind !== 'chunk') marks.push(`title: ${title}`)
  if (tags.length > 0) marks.push(`tags: ${tags.join(', ')}`)
  return marks.length > 0 ? `(${marks.join('; ')}) ` : ''
}

export interface MemoryNeeds
  extends Pick<
    FamiliarMemory,
    'memories' | 'recall' | 'deepRecall' | 'facts' | 'aliases' | 'episodes' | 'commitments' | 'corrections' | 'files'
  > {
  clock: Clock
  /** The user's IANA time zone: a memory shows the user's local date. */
  timeZone: string
}

// The shared size limit, each memory with its head; `memory_get` opens the rest of a long one.
const memoriesAnswerCharacters = 3_000
const memoriesHeadCharacters = 80
const leastCharacters = 100

/** The found part of a memory: for a long one the matching passage. */
export function withPassage({ memory, passage }: { memory: Memory; passage?: string | undefined }): FoundMemory {
  return passage === undefined ? memory : { ...memory, content: passage, wholeLength: memory.content.length }
}

export async function showMemories(
  { files }: Pick<MemoryNeeds, 'files'>,
  userId: string,
  memories: readonly FoundMemory[],
): Promise<ShownMemory[]> {
  const passages = memories.filter(({ kind }) => kind === 'chunk').map(({ id }) => id)
  const places = await files.fileOf(userId, passages)
  return memories.map((memory) => toShownMemory(memory, places.get(memory.id)))
}

export function renderMemories(shown: readonly ShownMemory[], about: string, timeZone: string): string {
  const each = Math.floor(memoriesAnswerCharacters / Math.max(1, shown.length))
  const room = Math.max(leastCharacters, each - memoriesHeadCharacters)
  return shown
    .map((memory) =>
      renderMemory({ ...memory, text: bestPassage(memory.text, about, room, memory.wholeLength) }, timeZone),
    )
    .join('\n')
}

interface FactsAsked extends MemoryQuestion {
  userId: string
  /** Only facts that were true at that time. */
  range: DateRange | undefined
}

const maxFacts = 500

/** Counts the values if a person is given, otherwise the people who have the value, without the user. */
async function queryFacts(needs: MemoryNeeds, asked: FactsAsked): Promise<{ found: ShownMemory[]; count: number }> {
  const facts = await findFacts(needs, asked)
  const others = asked.about === undefined ? facts.filter((fact) => entityKey(fact.entity) !== 'user') : facts
  const count = asked.about === undefined ? await countEntities(needs, asked.userId, others) : others.length
  const until = new Map(others.slice(0, asked.limit).map((fact) => [fact.id, fact.validTo]))
  const memories = await needs.memories.getMany(asked.userId, [...until.keys()])
  const found = await showMemories(needs, asked.userId, memories)
  return { count, found: found.map((memory) => ({ ...memory, until: until.get(memory.id) ?? null })) }
}

async function findFacts(needs: MemoryNeeds, asked: FactsAsked): Promise<Fact[]> {
  const { userId, about, value, range } = asked
  const history = asked.history === true || range !== undefined
  const found = new Map<string, Fact>()
  for (const attribute of asked.attributes ?? [undefined]) {
    const question = { userId, attribute, value, history, limit: maxFacts }
    const named = await needs.facts.find({ ...question, entity: about })
    const sharing = about === undefined ? [] : await needs.facts.find(question)
    for (const fact of [...named, ...sharing.filter((fact) => sharesName(fact.entity, about))]) found.set(fact.id, fact)
  }
  const wasTrue = ({ validFrom, validTo }: Fact) =>
    !range || (validFrom <= range.until && (validTo === null || validTo >= range.from))
  return [...found.values()].filter(wasTrue)
}

/** "Anna" means both Anna Miller and Anna Berg. */
function sharesName(entity: string, about: string | undefined): boolean {
  const wanted = foldedWords(about ?? '')
  const there = new Set(foldedWords(entity))
  return wanted.length > 0 && wanted.length < there.size && wanted.every((word) => there.has(word))
}

/** A person with several names counts once. */
async function countEntities(needs: MemoryNeeds, userId: string, facts: readonly Fact[]): Promise<number> {
  const names = new Map(facts.map((fact) => [entityKey(fact.entity), fact.entity]))
  const entities = new Set<string>()
  for (const name of names.values()) entities.add((await needs.aliases.resolve(userId, name)).toSorted().join('\n'))
  return entities.size
}

const maxRead = 500
const pageSize = 100
const maxByMeaning = 20

interface TimeAsked {
  userId: string
  range: DateRange
  /** Empty: everything that was said. */
  words: string
  limit: number
  signal: AbortSignal
}

/** The user's statements, summaries and decisions of that time, best matches first. */
async function queryTime(needs: MemoryNeeds, asked: TimeAsked): Promise<ShownMemory[]> {
  const { userId, range, words, limit, signal } = asked
  const wanted = contentWords(words)
  const told = [...(await episodesOf(needs, asked)), ...(await toldIn(needs, asked))]
  const counted = told
    .map((memory) => ({ memory, count: countWords(memory.content, wanted) }))
    .filter(({ count }) => wanted.length === 0 || count > 0)
    .sort((a, b) => b.count - a.count || b.memory.createdAt - a.memory.createdAt)
    .map(({ memory }) => memory)
  if (wanted.length > 0) {
    const recalled = await needs.recall.recall({ userId, text: words, limit: maxByMeaning, signal })
    counted.push(...recalled.map(({ memory }) => memory).filter((memory) => matchDates(memory, range) > 0))
  }
  const unique = [...new Map(counted.map((memory) => [memory.id, memory])).values()]
  return await showMemories(needs, userId, unique.slice(0, limit))
}

async function episodesOf({ episodes, memories }: MemoryNeeds, { userId, range }: TimeAsked): Promise<Memory[]> {
  const found = await episodes.list(userId, { limit: pageSize, ...range })
  const ids = found.map(({ id }) => id)
  return await memories.getMany(userId, ids)
}

/** Newest first, without the assistant's words and file contents. */
async function toldIn({ memories }: MemoryNeeds, { userId, range }: TimeAsked): Promise<Memory[]> {
  const found: Memory[] = []
  let before: { createdAt: number; id: string } = { createdAt: range.until + 1, id: '' }
  for (let read = 0; read < maxRead; read += pageSize) {
    const page = await memories.list(userId, { limit: pageSize, kinds: ['note', 'chunk'], before })
    const inside = page.filter((memory) => memory.createdAt >= range.from)
    found.push(
      ...inside.filter(({ kind, speaker }) => kind === 'note' || (speaker !== null && speaker !== 'assistant')),
    )
    const last = page.at(-1)
    if (!last || page.length < pageSize || inside.length < page.length) break
    before = { createdAt: last.createdAt, id: last.id }
  }
  return found
}

/** With its due day in the user's time zone, and whether it is overdue. */
export function showCommitment(commitment: Commitment, timeZone: string): ShownMemory {
  const { id, who, toWhom, what, deadline, state, createdAt, label } = commitment
  const text = `${commitmentBeginning({ who, to_whom: toWhom })}${what}`
  return { id, kind: 'commitment', label, at: createdAt, text, due: dueOf(state, deadline, timeZone) }
}

function dueOf(state: Commitment['state'], deadline: number | null, timeZone: string): string {
  if (state === 'done' || state === 'cancelled') return state
  if (deadline === null) return 'open'
  return `${state === 'expired' ? 'overdue since' : 'due'} ${formatDate(deadline, timeZone)}`
}

const maxByWords = 5

const input = z.object({
  about: z.string().optional().describe('the subject of the facts; "user" for the user'),
  attributes: z.array(z.string()).optional(),
  value: z.string().optional(),
  who: z.string().optional().describe('the person who promised or owes'),
  to: z.string().optional(),
  when: z.string().optional().describe('"last week", "in May", "2026-05-03"'),
  words: z.string().optional().describe('further search words'),
  history: z.boolean().optional().describe('also facts that are no longer true'),
  limit: z.int().min(1).max(50).default(10),
})

type MemoryQuestion = z.output<typeof input>

/** Exact questions: facts, promises and what was said when; results by words come after that. */
export function createMemoryQuery(needs: MemoryNeeds): Tool {
  const { commitments, recall, clock, timeZone } = needs
  return defineTool({
    name: 'memory_query',
    description:
      'Query memory exactly: facts by attribute or value, with a count; open promises by person; messages by day.',
    input,
    effect: 'idempotent',
    async run(question, { userId, signal }) {
      const range = question.when === undefined ? undefined : readDates(question.when, clock.now(), timeZone)
      if (question.when !== undefined && !range) return failed('"when" is not a valid day.')
      const asksFacts = [question.about, question.attributes, question.value].some((given) => given !== undefined)
      const asksPromises = question.who !== undefined || question.to !== undefined
      const facts = asksFacts ? await queryFacts(needs, { ...question, userId, range }) : undefined
      const exact: ShownMemory[] = [...(facts?.found ?? [])]
      const { words, limit, who, to } = question
      if (asksPromises) {
        // Overdue ones are still owed.
        const listed = await commitments.list({ userId, states: ['open', 'expired'], limit, who, toWhom: to })
        exact.push(...listed.map((commitment) => showCommitment(commitment, timeZone)))
      }
      const asksTime = range !== undefined && !asksFacts && !asksPromises
      if (asksTime) exact.push(...(await queryTime(needs, { userId, range, words: words ?? '', limit, signal })))
      const known = new Set(exact.map(({ id }) => id))
      const further = asksTime || words === undefined ? [] : await byWords(userId, words, signal)
      const others = further.filter(({ id }) => !known.has(id))
      const render = (memories: readonly ShownMemory[]) => renderMemories(memories, words ?? '', timeZone)
      const parts = [
        ...(facts ? [`Count: ${facts.count}`] : []),
        ...(exact.length > 0 ? [render(exact)] : []),
        ...(others.length > 0 ? ['Found by words:', render(others)] : []),
      ]
      const found = [...exact, ...others]
      if (found.length === 0) return succeeded([...parts, 'Nothing noted.'].join('\n'))
      return tellMemories(parts.join('\n'), found)
    },
  })

  async function byWords(userId: string, text: string, signal: AbortSignal): Promise<ShownMemory[]> {
    const recalled = await recall.recall({ userId, text, limit: maxByWords, signal })
    return await showMemories(needs, userId, recalled.map(withPassage))
  }
}

export interface HistoryEntry {
  seq: number
  at: number
  role: 'user' | 'assistant' | 'tool'
  text: string
}

/** The newest `limit` entries before `before`, oldest first, also compacted ones. Empty for another user's session. */
export type OpenHistory = (range: {
  sessionId: string
  userId: string
  before: number | undefined
  limit: number
}) => Promise<readonly HistoryEntry[]>

// The shared size limit, each entry with its head.
const answerCharacters = 4_000
const headCharacters = 40

export function createHistoryOpen({ openHistory, timeZone }: { openHistory: OpenHistory; timeZone: string }): Tool {
  return defineTool({
    name: 'history_open',
    description: 'Read earlier messages of this conversation, also summarized ones. `before` pages back.',
    input: z.object({
      before: z.int().min(0).optional(),
      limit: z.int().min(1).max(50).default(10),
    }),
    effect: 'idempotent',
    async run({ before, limit }, { sessionId, userId, seen }) {
      const entries = await openHistory({ sessionId, userId, before, limit })
      const [oldest] = entries
      if (!oldest) return succeeded('There is nothing earlier.')
      const shown = Math.floor(answerCharacters / entries.length) - headCharacters
      const lines = entries.map(({ seq, at, role, text }) => {
        const indented = truncateText(text, shown).replaceAll('\n', '\n  ')
        return `#${seq} ${formatDate(at, timeZone)} ${role}: ${indented}`
      })
      const text = [...lines, `[earlier: before ${oldest.seq}]`].join('\n')
      return tellMemories(text, seen.untrusted ? [{ label: 'untrusted' }] : [])
    },
  })
}
