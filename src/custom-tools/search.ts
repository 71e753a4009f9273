import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sha256 } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import { createTurnstile, type Turnstile } from '../base/work.ts'
import type { Embedder } from '../memory/embedding/embedders.ts'
import { allContentWords, stem } from '../memory/words.ts'
import { type Database, vectorNumbers } from '../storage/database.ts'
import { createBestSlots } from '../storage/vectors/stored-vectors.ts'
import { closenessOf } from '../tools/registry.ts'
import { type Capability, type CapabilityCatalog, serves } from './built-catalog.ts'
import {
  type CapabilityVectors,
  createVectorTable,
  duplicateFrom,
  packVectors,
  toCapabilityVectors,
  unpackVectors,
  type VectorTable,
} from './tool-vectors.ts'

interface FoundCapability {
  capability: Capability
  /** 0 to 1, by words and meaning together. */
  score: number
  /** By meaning alone, 0 to 1; 0 if it is unknown. */
  closeness: number
  words: WordMatch
}

export type CapabilitySearch = Pick<OpenCapabilitySearch, 'search' | 'findDuplicate'>
export type OpenCapabilitySearch = ReturnType<typeof createCapabilitySearch>

/** How many of each kind are looked at together. */
const maxCandidates = 60
/** The limit for the model, which may have to start first. */
const maxMs = 1_500
/** The weight of words against meaning: chosen on one half of the questions of bench/capability-search. */
const wordShare = 0.1

interface SearchNeeds {
  catalog: CapabilityCatalog
  database: Database
  embedder?: Embedder | undefined
  logger: Logger
}

/** Capabilities by what they do, at any number of them: an index of words and of vectors, both in memory. */
export function createCapabilitySearch(dependencies: SearchNeeds) {
  const { catalog, database, embedder, logger } = dependencies
  const users = new Map<string, { index: UserIndex; inOrder: Turnstile; isCurrent: boolean }>()
  const job = createMeaningJob(dependencies)
  const unfollow = catalog.onChange((userId) => {
    userOf(userId).isCurrent = false
    // A new version has its vector before the first search.
    current(userId).catch((error) => logger.warn('a change of the capabilities is not indexed yet', { error }))
  })

  function userOf(userId: string) {
    const user = users.get(userId) ?? { index: createUserIndex(), inOrder: createTurnstile(1), isCurrent: false }
    users.set(userId, user)
    return user
  }

  async function current(userId: string): Promise<UserIndex> {
    const user = userOf(userId)
    if (!user.isCurrent) {
      await user.inOrder(async () => {
        if (user.isCurrent) return
        user.isCurrent = true
        const changed = await user.index.follow(catalog.list(userId))
        job.add({ userId, index: user.index, capabilities: changed })
      })
    }
    return user.index
  }

  /** Undefined where there is no telling in time. */
  async function compare(
    index: UserIndex,
    { text, by }: { text: string; by: keyof CapabilityVectors<unknown> },
    signal: AbortSignal,
  ): Promise<Compared | undefined> {
    if (!embedder) return undefined
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(maxMs)])
      const [question] = await embedder.embed([text], 'question', limited)
      job.retry()
      const table = index.vectors()?.[by]
      return question && table?.dimensions === question.length ? table.compare(question) : undefined
    } catch (error) {
      signal.throwIfAborted()
      logger.debug('capabilities are searched by their words alone', { error })
      return undefined
    }
  }

  return {
    /** Fills the indexes of all users, and begins to give vectors to what has none. Without it the first search does. */
    async start(): Promise<void> {
      const rows = await database.read.selectFrom('capabilities').select('user_id').distinct().execute()
      for (const { user_id } of rows) await current(user_id)
    },
    /** The callable ones, best first. By words alone if the model does not answer in time. */
    async search(query: {
      userId: string
      text: string
      limit: number
      signal: AbortSignal
    }): Promise<FoundCapability[]> {
      const { userId, text, limit, signal } = query
      const index = await current(userId)
      const meaning = await compare(index, { text, by: 'whole' }, signal)
      const words = index.words.compare(text)
      const ids = new Set(
        [...words.best(maxCandidates), ...(meaning?.nearest(maxCandidates) ?? [])].map(({ id }) => id),
      )
      const named = text.trim().replace(/^cap_/, '')
      const found = [...ids].flatMap((id) => {
        // As it is by now: it may have been switched off since the index was looked at.
        const capability = catalog.find(userId, index.nameOf(id) ?? '')
        if (!capability || !serves(capability)) return []
        const closeness = closenessOf(meaning?.cosineOf(id) ?? 0, embedder?.model ?? '')
        const match = words.matchOf(id)
        const score = meaning ? wordShare * match.share + (1 - wordShare) * closeness : match.share
        return [{ capability, score: capability.name === named ? 1 : score, closeness, words: match }]
      })
      return found
        .filter(({ score }) => score > 0)
        .sort((a, b) => b.score - a.score || (a.capability.name < b.capability.name ? -1 : 1))
        .slice(0, limit)
    },
    /** One that does the same already, of another name. */
    async findDuplicate(wanted: {
      userId: string
      name: string
      description: string
      signal: AbortSignal
    }): Promise<Capability | undefined> {
      const { userId, name, description, signal } = wanted
      const others = catalog.list(userId).filter((other) => other.name !== name)
      const nameWords = wordsOf(name).sort().join(' ')
      const renamed = others.find((other) => wordsOf(other.name).sort().join(' ') === nameWords)
      if (renamed) return renamed
      const wish = `${name.replaceAll('_', ' ')}: ${description}`
      const compared = await compare(await current(userId), { text: wish, by: 'said' }, signal)
      const nearest = compared
        ?.nearest(2)
        .filter(({ cosine }) => cosine >= duplicateFrom(embedder?.model ?? '', 'asked'))
      return nearest?.flatMap(({ id }) => others.find((other) => other.id === id) ?? [])[0]
    },
    /** When what is there now has been read and embedded as far as it can be. */
    settled: job.settled,
    async close(): Promise<void> {
      unfollow()
      await job.close()
    },
  }
}

type Compared = ReturnType<VectorTable['compare']>

const maxLines = 6
const maxNotesLength = 400
const maxTextLength = 700
const textForm = 2

/** The text of a version beyond its line in the catalog. */
interface ToldText {
  notes: string
  askedAs: readonly string[]
}

const nothingTold: ToldText = { notes: '', askedAs: [] }

/** By what a capability is found, as words. */
function indexedText({ name, description, tags }: Capability, { notes, askedAs }: ToldText): IndexedText[] {
  return [
    { text: name, weight: 2 },
    { text: description, weight: 1 },
    { text: tags.join(' '), weight: 1 },
    { text: askedAs.join(' '), weight: 1 },
    { text: notes, weight: 0.3 },
  ]
}

/** And as meanings: first what it says of itself, then each way to ask for it. */
function meaningTexts({ name, description, tags }: Capability, { notes, askedAs }: ToldText): string[] {
  const text = `${name.replaceAll('_', ' ')}: ${description} ${tags.join(' ')} ${notes}`
  return [text.slice(0, maxTextLength).toWellFormed().trim(), ...askedAs]
}

/**
 * Stands for these texts without a look at them: a version never changes, so neither do its RUN.md and how it is asked
 * for. Another form of the texts needs another number.
 */
function meaningKey({ version, name, description, tags }: Capability): string {
  return sha256(JSON.stringify([textForm, version, name, description, tags]))
}

function firstLines(markdown: string): string {
  const lines = markdown.split('\n').map((line) => line.replace(/^[#>*\s-]+/, '').trim())
  return lines.filter(Boolean).slice(0, maxLines).join(' ').slice(0, maxNotesLength).toWellFormed()
}

const perBatch = 32

interface Work {
  userId: string
  index: UserIndex
  capabilities: readonly Capability[]
}

/**
 * Brings into the indexes what takes time, in the background: what versions tell of themselves, from rows and from the
 * disk, and vectors, from rows or from the model.
 */
function createMeaningJob(dependencies: SearchNeeds) {
  const { catalog, database, embedder, logger } = dependencies
  const ended = new AbortController()
  const left: Work[] = []
  let working: Promise<void> = Promise.resolve()

  async function take({ userId, index, capabilities }: Work): Promise<void> {
    const stored = await readStored(userId, capabilities)
    for (const [id, vectors] of stored) index.putVectors(id, vectors)
    for (let from = 0; from < capabilities.length && !ended.signal.aborted; from += perBatch) {
      const batch = capabilities.slice(from, from + perBatch)
      const told = await readTold(batch)
      for (const one of batch) {
        const text = told.get(one.id)
        if (text && index.holds(one)) index.words.put(one.id, indexedText(one, text))
      }
      const lacking = batch.filter(({ id }) => !stored.has(id))
      if (embedder && lacking.length > 0) await embed(embedder, index, lacking, told)
    }
  }

  async function readStored(
    userId: string,
    capabilities: readonly Capability[],
  ): Promise<Map<string, CapabilityVectors<Int8Array>>> {
    if (!embedder || capabilities.length === 0) return new Map()
    const [only] = capabilities
    let select = database.read
      .selectFrom('capability_vectors')
      .innerJoin('capabilities', 'capabilities.id', 'capability_vectors.capability_id')
      .select(['capability_id', 'text_hash', 'vector'])
      .where('user_id', '=', userId)
      .where('model', '=', embedder.model)
    if (only && capabilities.length === 1) select = select.where('capability_id', '=', only.id)
    const keys = new Map(capabilities.map((capability) => [capability.id, meaningKey(capability)]))
    const rows = await select.execute()
    const current = rows.filter((row) => keys.get(row.capability_id) === row.text_hash)
    return new Map(current.map((row) => [row.capability_id, numbersOf(row.vector)]))
  }

  async function embed(
    model: Embedder,
    index: UserIndex,
    capabilities: readonly Capability[],
    told: ReadonlyMap<string, ToldText>,
  ): Promise<void> {
    const texts = capabilities.map((capability) => meaningTexts(capability, told.get(capability.id) ?? nothingTold))
    const vectors = await model.embed(texts.flat(), 'memory', ended.signal)
    let from = 0
    const made = capabilities.flatMap((capability, at) => {
      const count = texts[at]?.length ?? 0
      const own = vectors.slice(from, from + count)
      from += count
      return own.length === count ? [{ capability, packed: packVectors(toCapabilityVectors(own)) }] : []
    })
    const rows = made.map(({ capability, packed }) => {
      return { capability_id: capability.id, model: model.model, text_hash: meaningKey(capability), vector: packed }
    })
    await database.write(async (writer) => {
      const ids = rows.map((row) => row.capability_id)
      // Vectors of another model cannot be used.
      await writer.deleteFrom('capability_vectors').where('capability_id', 'in', ids).execute()
      await writer.insertInto('capability_vectors').values(rows).execute()
    })
    for (const { capability, packed } of made) {
      if (index.holds(capability)) index.putVectors(capability.id, numbersOf(packed))
    }
  }

  /** A file that cannot be read counts as empty: a call of the capability reports it. */
  async function readTold(capabilities: readonly Capability[]): Promise<ReadonlyMap<string, ToldText>> {
    const versions = [...(await catalog.versionsOf(capabilities)).values()]
    const told = versions.map(async ({ capabilityId, manifest, directory }) => {
      const notes = await readFile(join(directory, 'RUN.md'), 'utf8').catch(() => '')
      return [capabilityId, { notes: firstLines(notes), askedAs: manifest.askedAs }] as const
    })
    return new Map(await Promise.all(told))
  }

  function add(work: Work): void {
    if (work.capabilities.length === 0) return
    working = working
      .then(() => take(work))
      .catch((error) => {
        if (ended.signal.aborted) return
        left.push(work)
        logger.warn('capabilities are found by their words alone', { error })
      })
  }

  return {
    add,
    /** The model answers: what it could not be asked for before is asked for again. */
    retry: (): void => left.splice(0).forEach(add),
    settled: (): Promise<void> => working,
    async close(): Promise<void> {
      ended.abort()
      await working
    },
  }
}

function numbersOf(packed: Uint8Array): CapabilityVectors<Int8Array> {
  const { said, whole } = unpackVectors(packed)
  return { said: vectorNumbers(said), whole: vectorNumbers(whole) }
}

/** A part of what is indexed, with what a word in it counts. */
interface IndexedText {
  text: string
  weight: number
}

/** How well a text matches a question by words. */
export interface WordMatch {
  /** Of everything that the question says, 0 to 1. */
  share: number
  /** Counted in words that no other text has, however long the question is. */
  strength: number
}

interface Posting {
  slots: number[]
  weights: number[]
}

/** How soon a repeated word stops to count more, and how much long texts are held back. */
const saturation = 1.2
const lengthShare = 0.4
const maxWords = 32
const nowhere: Posting = { slots: [], weights: [] }

export type WordIndex = ReturnType<typeof createWordIndex>

/** Texts by their words, ranked by BM25. Words that belong together count as one. */
export function createWordIndex() {
  let documents: { id: string; words: ReadonlyMap<string, number>; length: number }[] = []
  let postings = new Map<string, Posting>()
  const slots = new Map<string, number>()
  let totalLength = 0

  function append(id: string, words: ReadonlyMap<string, number>, length: number): void {
    const slot = documents.length
    documents.push({ id, words, length })
    slots.set(id, slot)
    totalLength += length
    for (const [word, weight] of words) {
      const posting = postings.get(word) ?? { slots: [], weights: [] }
      postings.set(word, posting)
      posting.slots.push(slot)
      posting.weights.push(weight)
    }
  }

  /** A deleted entry stays in the lists of its words, hidden, until such entries are the larger part. */
  function rebuild(): void {
    const kept = documents.filter((_, slot) => isCurrent(slot))
    documents = []
    postings = new Map()
    slots.clear()
    totalLength = 0
    for (const { id, words, length } of kept) append(id, words, length)
  }

  const isCurrent = (slot: number) => slots.get(documents[slot]?.id ?? '') === slot
  const rarity = (holders: number) => Math.log(1 + (slots.size - holders + 0.5) / (holders + 0.5))

  const index = {
    /** In place of what was there under this id. */
    put(id: string, parts: readonly IndexedText[]): void {
      index.delete(id)
      const words = new Map<string, number>()
      let length = 0
      for (const { text, weight } of parts) {
        for (const word of wordsOf(text)) {
          words.set(word, (words.get(word) ?? 0) + weight)
          length += weight
        }
      }
      append(id, words, length)
    },
    delete(id: string): void {
      const slot = slots.get(id)
      if (slot === undefined) return
      totalLength -= documents[slot]?.length ?? 0
      slots.delete(id)
      if (documents.length > 2 * slots.size + 16) rebuild()
    },
    /** How much of what the question asks for each of them says, 0 to 1. */
    compare(question: string) {
      const wanted = [...new Set(wordsOf(question))].slice(0, maxWords)
      const mean = totalLength / Math.max(1, slots.size)
      const sums = new Float64Array(documents.length)
      let most = 0
      for (const word of wanted) {
        const { slots: holders, weights } = postings.get(word) ?? nowhere
        const rare = rarity(Math.min(holders.length, slots.size))
        most += rare * (saturation + 1)
        for (let at = 0; at < holders.length; at += 1) {
          const slot = holders[at] as number
          const weight = weights[at] as number
          const longer = 1 - lengthShare + (lengthShare * (documents[slot]?.length ?? 0)) / mean
          sums[slot] = (sums[slot] as number) + (rare * weight * (saturation + 1)) / (weight + saturation * longer)
        }
      }
      return {
        /** Those that have at least one of the words, best first. */
        best(limit: number) {
          const best = createBestSlots(limit, (slot) => -slot)
          let least = 0
          for (let slot = 0; slot < sums.length; slot += 1) {
            const sum = sums[slot] as number
            if (sum > 0 && sum >= least && isCurrent(slot)) least = best.offer(slot, sum)
          }
          return best.take().map(({ slot, score }) => ({ id: documents[slot]?.id ?? '', score: score / most }))
        },
        /** Zeros where none of the words is in it. */
        matchOf(id: string): WordMatch {
          const sum = sums[slots.get(id) ?? -1] ?? 0
          return sum === 0 ? { share: 0, strength: 0 } : { share: sum / most, strength: sum / rarity(1) }
        },
      }
    },
  }
  return index
}

/** Underscores join the words of a name, and are not part of a word. */
export function wordsOf(text: string): string[] {
  return allContentWords(text.replaceAll('_', ' ')).map(stem)
}

const perSlice = 200

type UserIndex = ReturnType<typeof createUserIndex>

function createUserIndex() {
  const words = createWordIndex()
  const held = new Map<string, { name: string; version: number | null }>()
  let tables: CapabilityVectors<VectorTable> | undefined

  function drop(id: string): void {
    words.delete(id)
    dropVectors(id)
    held.delete(id)
  }

  function dropVectors(id: string): void {
    tables?.said.delete(id)
    tables?.whole.delete(id)
  }

  return {
    words,
    vectors: (): CapabilityVectors<VectorTable> | undefined => tables,
    putVectors(id: string, { said, whole }: CapabilityVectors<Int8Array>): void {
      tables ??= { said: createVectorTable(said.length), whole: createVectorTable(said.length) }
      // A server may answer with another length from one day to the next: what does not fit together is left out.
      if (!held.has(id) || tables.said.dimensions !== said.length) return
      tables.said.put(id, said)
      tables.whole.put(id, whole)
    },
    /** Takes in what has changed, and returns it. Gives way to others every so often. */
    async follow(capabilities: readonly Capability[]): Promise<Capability[]> {
      const serving = new Map(capabilities.filter(serves).map((capability) => [capability.id, capability]))
      for (const id of [...held.keys()]) if (!serving.has(id)) drop(id)
      const changed = [...serving.values()].filter(({ id, version }) => held.get(id)?.version !== version)
      for (const [index, capability] of changed.entries()) {
        if (index % perSlice === perSlice - 1) await new Promise(setImmediate)
        words.put(capability.id, indexedText(capability, nothingTold))
        dropVectors(capability.id)
        held.set(capability.id, { name: capability.name, version: capability.version })
      }
      return changed
    },
    nameOf: (id: string): string | undefined => held.get(id)?.name,
    /** Whether it stands for this version of the capability. */
    holds: ({ id, version }: Capability): boolean => held.get(id)?.version === version,
  }
}
