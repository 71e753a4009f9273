import { z } from 'zod'
import { type Clock, endOfDay, parseDay } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import type { Database, Reader, Writer } from '../../storage/database.ts'
import type { Commitments } from '../commitments.ts'
import { type Facts, factBeginning } from '../facts.ts'
import type { MemoryGraph } from '../graph.ts'
import { type Memories, memoryCollection } from '../memories.ts'
import { isRow, type MemoryLabel } from '../memory.ts'
import type { Aliases } from '../names.ts'
import { repetitionOf } from '../note-passages.ts'
import { allContentWords, entityKey, termOf } from '../words.ts'
import type { AskModel } from './ask-model.ts'
import { saysTheSame, tellingWords } from './exchange.ts'
import type { Learned, LearnedCommitment, LearnedFact, LearnedNote } from './extraction.ts'

export interface LearningStores {
  memories: Memories
  facts: Facts
  commitments: Commitments
  aliases: Aliases
  graph: MemoryGraph
}

export interface LearningDependencies extends LearningStores {
  database: Database
  askModel: AskModel
  clock: Clock
  logger: Logger
  timeZone: string
  agentName?: () => string
}

export interface LearntFrom {
  userId: string
  sessionId?: string | undefined
  turnId?: string | undefined
  at: number
  label: MemoryLabel
  /** With the label `untrusted`: statements that say no more than this are the user's own anyway. */
  ownWords?: readonly string[]
  timeZone: string
}

export const nothingWritten = { notes: 0, facts: 0, commitments: 0, aliases: 0 }
export type WrittenCount = typeof nothingWritten

export interface Written {
  added: WrittenCount
  /** All memories that say it, including known ones: an episode mentions them. */
  ids: string[]
  /** Facts that contradict a more certain one. */
  refused: number
}

/**
 * Writes the verified results in the caller's unit. Names come first, so that facts and promises resolve through them.
 */
export async function writeLearnedIn(
  writer: Writer,
  stores: LearningStores,
  from: LearntFrom,
  learned: Learned,
): Promise<Written> {
  const { userId, sessionId, turnId, at, label } = from
  const origin = { userId, sessionId, turnId, at, source: 'extracted' as const }
  const labelFor = labelling(label, from.ownWords ?? [])
  const written: Written = { added: { ...nothingWritten }, ids: [], refused: 0 }

  for (const { alias, entity } of learned.aliases) {
    // A name has no label, and would affect all later queries.
    if (labelFor(`${alias} ${entity}`) === 'untrusted') continue
    if (await stores.aliases.addIn(writer, userId, alias, entity)) written.added.aliases += 1
  }
  for (const fact of learned.ended ?? []) {
    if (labelFor(`${fact.entity} ${fact.value}`) !== 'untrusted')
      await stores.facts.endIn(writer, { userId, at, ...fact })
  }
  for (const fact of learned.facts) {
    const result = await stores.facts.writeIn(writer, {
      ...origin,
      ...fact,
      label: labelFor(`${fact.entity} ${fact.value}`),
    })
    if (result.outcome === 'refused') {
      written.refused += 1
      continue
    }
    written.ids.push(result.fact.id)
    if (result.outcome === 'confirmed') continue
    written.added.facts += 1
    await linkFactIn(writer, stores.graph, userId, result.fact.id)
  }
  for (const { who, toWhom, what, deadline } of learned.commitments) {
    const day = deadline === null ? undefined : parseDay(deadline)
    const { commitment, isNew } = await stores.commitments.addIn(writer, {
      ...origin,
      label: labelFor(`${who} ${toWhom ?? ''} ${what}`),
      who,
      what,
      toWhom: toWhom ?? undefined,
      deadline: day && endOfDay(day, from.timeZone),
    })
    written.ids.push(commitment.id)
    if (isNew) written.added.commitments += 1
  }
  for (const note of learned.notes) {
    const { memory, isNew } = await stores.memories.addIn(writer, {
      ...origin,
      ...note,
      label: labelFor(note.content),
      kind: 'note',
    })
    written.ids.push(memory.id)
    if (isNew) written.added.notes += 1
  }
  return written
}

function labelling(label: MemoryLabel, ownWords: readonly string[]): (claim: string) => MemoryLabel {
  if (label !== 'untrusted' || ownWords.length === 0) return () => label
  const evidence = evidenceOf(ownWords)
  return (claim) => (isGrounded(claim, evidence, 1) ? 'internal' : label)
}

const subject =
  /^(?:the |this |your |our )?(?:(?:ai|virtual|personal) )?(?:assistant|chatbot|bot|familiar(?! with)|language model|ai (?:model|agent)|agent)(?:['’]s)?\b/i
const machinery =
  /\b(?:tool calls?|function calls?|stack ?traces?|tracebacks?|error (?:messages?|codes?)|status codes?|exit codes?|system prompt|context window|debug(?:ging)? (?:output|log|logs|session|info)|[A-Za-z]+(?:Error|Exception))\b/
// Tool names such as `store_memory`: people do not write like this.
const toolName = /\b[a-z]+(?:_[a-z]+)+\b/

/**
 * Talk about the agent itself, its tools, or their errors: not knowledge about the user's life. The user's wishes about
 * the agent begin with the user and do not count.
 */
export function isAboutTheAgent(text: string, agentName?: string): boolean {
  if (subject.test(text) || machinery.test(text) || toolName.test(text)) return true
  if (!agentName) return false
  const start = text.trimStart().toLowerCase()
  const name = agentName.trim().toLowerCase()
  return name !== '' && start.startsWith(name) && !/^[\p{L}\p{N}]/u.test(start.slice(name.length))
}

interface Evidence {
  terms: ReadonlySet<string>
  speaksOfTime: boolean
}

const readCharacters = 100_000
const usualShare = 0.5
const isoDate = /\b\d{4}-\d{2}-\d{2}\b/g
const time =
  /\d|\b(?:today|tonight|tomorrow|yesterday|week|weekend|month|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october|november|december)\b/i

export function evidenceOf(texts: readonly string[]): Evidence {
  const terms = new Set<string>()
  let left = readCharacters
  for (const text of texts) {
    const read = text.slice(0, left)
    left -= read.length
    for (const word of allContentWords(read)) terms.add(termOf(word))
  }
  return { terms, speaksOfTime: texts.some((text) => time.test(text.slice(0, readCharacters))) }
}

/**
 * At least that share of the claim's words was said. This does not prove the claim; it ensures that it was not invented
 * or taken from elsewhere. A date may have another notation.
 */
export function isGrounded(claim: string, evidence: Evidence, share = usualShare): boolean {
  const words = tellingWords(claim.replaceAll(isoDate, ' '))
  if (words.length === 0) return evidence.speaksOfTime && claim.search(isoDate) >= 0
  const found = words.filter((word) => evidence.terms.has(termOf(word)))
  return found.length >= words.length * share
}

const changeSchema = z.object({ memories: z.array(z.object({ memory: z.object({ content: z.string() }) })) })

/**
 * Whether a text only repeats what was forgotten after it was said: as a memory it would have been forgotten too. The
 * user's own words are only forgotten at their request.
 */
export async function readForgotten(reader: Reader | Writer, { userId, since }: { userId: string; since: number }) {
  const changes = (await readChanges(reader, userId, since)).map(({ contents: [content = ''], ...change }) => {
    return { ...change, repeats: repetitionOf(content) }
  })
  return ({ text, label, at }: { text: string; label: MemoryLabel; at: number }): boolean =>
    changes.some(({ at: forgottenAt, madeBy, repeats }) => {
      const mayGo = madeBy === 'user' || label !== 'owner'
      return mayGo && at <= forgottenAt && repeats(text)
    })
}

/**
 * Leaves out what the user has forgotten since it was said at `saidAt`: the log still contains it, and learning it
 * again would undo the forgetting. If it is said again afterwards, it is learned again.
 */
export async function leaveOutForgotten(
  database: Database,
  { userId, saidAt }: { userId: string; saidAt: number },
  learned: Learned,
): Promise<Learned> {
  const changes = await readChanges(database.read, userId, saidAt)
  const forgotten = changes.flatMap(({ contents }) => contents.map((content) => evidenceOf([content])))
  if (forgotten.length === 0) return learned
  const isForgotten = (text: string) => forgotten.some((evidence) => isGrounded(text, evidence, 1))
  return {
    ...learned,
    notes: learned.notes.filter((note) => !isForgotten(note.content)),
    facts: learned.facts.filter(({ entity, value }) => !isForgotten(`${entity} ${value}`)),
    commitments: learned.commitments.filter(({ what }) => !isForgotten(what)),
    episode: learned.episode && {
      ...learned.episode,
      decisions: learned.episode.decisions.filter((decision) => !isForgotten(decision)),
    },
  }
}

async function readChanges(reader: Reader | Writer, userId: string, since: number) {
  const rows = await reader
    .selectFrom('memory_changes')
    .select(['data', 'at', 'made_by'])
    .where('user_id', '=', userId)
    .where('at', '>=', since)
    .where('action', '=', 'forgotten')
    .execute()
  return rows.map(({ data, at, made_by }) => {
    const change = parseJson(data, changeSchema)
    // The requested one, then its repetitions.
    const contents = change.ok ? change.value.memories.map(({ memory }) => memory.content) : []
    return { contents, at, madeBy: made_by }
  })
}

const named =
  /\b(?:passwords?|passphrase|passcode|passwort|cvv|cvc|api[ _-]?keys?|secret keys?|private keys?|access tokens?|bearer tokens?|recovery codes?|seed phrase)\b[^.\n]{0,40}(?:\bis\b|\bare\b|:|=)\s{0,4}\S/i
const pin = /\bpin(?: code| number)?(?: is|:| =)? ?\d{4,}/i
const keyShaped = /\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abprs]|AKIA|AIza|eyJ)[-_A-Za-z0-9]{12,}/
const pem = '-----BEGIN '
const long = /[A-Za-z0-9+/_=-]{32,}/g
const digits = /\d(?:[ -]?\d){12,18}/g

/** A password, a key or a card number: never stored outside the conversation. */
export function holdsSecret(text: string): boolean {
  if (text.includes(pem) || named.test(text) || pin.test(text) || keyShaped.test(text)) return true
  if ([...text.matchAll(long)].some(([word]) => /\d/.test(word) && /[A-Za-z]/.test(word))) return true
  return [...text.matchAll(digits)].some(([number]) => passesLuhn(number.replaceAll(/[ -]/g, '')))
}

function passesLuhn(number: string): boolean {
  let sum = 0
  for (const [index, digit] of [...number].reverse().entries()) {
    const doubled = index % 2 === 0 ? Number(digit) : Number(digit) * 2
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

const looked = 12
const maxOpen = 200

/** Leaves out what is known: in nearly the same words, or twice in this answer. */
export async function leaveOutKnown(
  { database, memories, commitments }: { database: Database; memories: Memories; commitments: Commitments },
  userId: string,
  learned: Learned,
): Promise<Learned> {
  const facts = learned.facts.map((fact) => `${factBeginning(fact)}${fact.value}`)
  const notes: LearnedNote[] = []
  for (const note of learned.notes) {
    const beside = [...facts, ...notes.map((other) => other.content)]
    const known = [...beside, ...(await similar(note.content))]
    if (!known.some((text) => saysTheSame(text, note.content))) notes.push(note)
  }
  return { ...learned, notes, commitments: await newCommitments() }

  async function similar(content: string): Promise<string[]> {
    const words = tellingWords(content).join(' ')
    if (words === '') return []
    const matches = await database.textSearch.search({ collection: memoryCollection, userId, words, limit: looked })
    const ids = matches.map((match) => match.id)
    const found = await memories.getMany(userId, ids)
    // A passage is where it was said, not knowledge: otherwise nothing could be learned beside it.
    return found
      .filter(({ kind, supersededAt }) => kind !== 'chunk' && supersededAt === null)
      .map((memory) => memory.content)
  }

  async function newCommitments(): Promise<LearnedCommitment[]> {
    if (learned.commitments.length === 0) return []
    const open = await commitments.list({ userId, states: ['open'], limit: maxOpen })
    return learned.commitments.filter(
      (commitment, index) =>
        ![...open, ...learned.commitments.slice(0, index)].some((other) => isSamePromise(other, commitment)),
    )
  }
}

type Promised = Pick<LearnedCommitment, 'who' | 'toWhom' | 'what'>

function isSamePromise(a: Promised, b: Promised): boolean {
  const sameDebtor = entityKey(a.who) === entityKey(b.who)
  const sameCreditor = a.toWhom === null || b.toWhom === null || entityKey(a.toWhom) === entityKey(b.toWhom)
  return sameDebtor && sameCreditor && saysTheSame(a.what, b.what)
}

/** The keys of names in the answer that are already known: a user may refer to them as "she". */
async function knownNames(
  { aliases, facts }: { aliases: Aliases; facts: Facts },
  userId: string,
  learned: Learned,
): Promise<Set<string>> {
  const names = [
    ...learned.facts.map((fact) => fact.entity),
    ...learned.commitments.flatMap(({ who, toWhom }) => [who, toWhom ?? '']),
    ...learned.aliases.flatMap(({ alias, entity }) => [alias, entity]),
  ].filter(Boolean)
  const named = new Map(names.map((name) => [entityKey(name), name]))
  if (named.size === 0) return new Set()
  const listed = await aliases.list(userId)
  const known = new Set(listed.flatMap(({ alias, entity }) => [entityKey(alias), entityKey(entity)]))
  for (const [key, name] of named) {
    if (!known.has(key) && (await facts.find({ userId, entity: name, limit: 1 })).length > 0) known.add(key)
  }
  return known
}

const maxLinks = 8
const weight = 0.8

/**
 * Links a fact to those about the entity it names: "user: sister is Anna" to the facts about Anna, and back. So facts
 * about the sister are found.
 */
async function linkFactIn(writer: Writer, graph: MemoryGraph, userId: string, factId: string): Promise<void> {
  const fact = await writer.selectFrom('facts').selectAll().where(isRow(userId, factId)).executeTakeFirst()
  if (!fact) return
  const live = writer.selectFrom('facts').select('id').where('user_id', '=', userId).where('valid_to', 'is', null)
  const others = live.where('id', '!=', factId).limit(maxLinks)
  const about = await others.where('entity_key', '=', fact.value_key).execute()
  const naming = fact.entity_key === 'user' ? [] : await others.where('value_key', '=', fact.entity_key).execute()
  const edges = [
    ...about.map(({ id }) => ({ sourceId: factId, targetId: id })),
    ...naming.map(({ id }) => ({ sourceId: id, targetId: factId })),
  ]
  for (const edge of edges) await graph.linkIn(writer, userId, { ...edge, relation: 'names', weight })
}

/**
 * The parts of a model's answer that may be kept. The model is not trusted: everything that the user's own words do not
 * support, that is about the agent, or contains a secret is dropped.
 */
export function siftLearned(
  learned: Learned,
  { evidence, knownNames, agentName }: { evidence: Evidence; knownNames: ReadonlySet<string>; agentName?: string },
): { kept: Learned; dropped: number } {
  const isFit = (text: string) => !holdsSecret(text) && !isAboutTheAgent(text, agentName)
  const isSomeone = (name: string) => {
    const key = entityKey(name)
    return isFit(name) && (key === 'user' || knownNames.has(key) || isGrounded(name, evidence))
  }
  const isSaid = (text: string) => isFit(text) && isGrounded(text, evidence)
  const isSaidFact = ({ attribute, value }: LearnedFact) =>
    isFit(`${attribute}: ${value}`) && (isSaid(value) || (isFit(value) && knownNames.has(entityKey(value))))
  const kept: Learned = {
    notes: learned.notes.filter((note) => isSaid(note.content)),
    facts: learned.facts.filter((fact) => isSomeone(fact.entity) && isSaidFact(fact)),
    commitments: learned.commitments.filter(
      ({ who, toWhom, what }) => isSomeone(who) && (toWhom === null || isSomeone(toWhom)) && isSaid(what),
    ),
    // An alias must have been said; its entity may be known from before.
    aliases: learned.aliases.filter(({ alias, entity }) => isSaid(alias) && isSomeone(entity)),
    episode: learned.episode,
  }
  return { kept, dropped: countItems(learned) - countItems(kept) }
}

function countItems({ notes, facts, commitments, aliases }: Learned): number {
  return notes.length + facts.length + commitments.length + aliases.length
}

/** The parts of a model's answer that are supported, not known yet, and not forgotten since. */
export async function siftAnswer(
  dependencies: Omit<LearningDependencies, 'askModel' | 'clock' | 'timeZone'>,
  from: { userId: string; said: readonly string[]; saidAt: number },
  learned: Learned,
): Promise<Learned> {
  const { database, logger } = dependencies
  const { userId, said, saidAt } = from
  const agentName = dependencies.agentName?.()
  const { kept, dropped } = siftLearned(learned, {
    evidence: evidenceOf(said),
    knownNames: await knownNames(dependencies, userId, learned),
    ...(agentName !== undefined && { agentName }),
  })
  if (dropped > 0) logger.debug('learning dropped statements that the user did not make', { dropped })
  return leaveOutKnown(dependencies, userId, await leaveOutForgotten(database, { userId, saidAt }, kept))
}
