import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../../../base/logger.ts'
import type { Embedder } from '../../../memory/embedding/embedder.ts'
import type { Database } from '../../../storage/database.ts'
import { vectorNumbers } from '../../../storage/vector-bytes.ts'
import type { Capability } from '../capability.ts'
import { firstLines, indexedText, meaningKey, meaningTexts, nothingTold, type ToldText } from './capability-text.ts'
import { type CapabilityVectors, packVectors, toCapabilityVectors, unpackVectors } from './capability-vectors.ts'
import type { CapabilityCatalog } from './catalog.ts'
import type { UserIndex } from './user-index.ts'

/**
 * Brings into the indexes what takes time, in the background: what versions tell of themselves, from rows and from the
 * disk, and vectors, from rows or from the model.
 */
export interface MeaningJob {
  add(work: Work): void
  /** The model answers: what it could not be asked for before is asked for again. */
  retry(): void
  /** When all that was added is done, or could not be. */
  settled(): Promise<void>
  close(): Promise<void>
}

const perBatch = 32

interface Work {
  userId: string
  index: UserIndex
  capabilities: readonly Capability[]
}

export function createMeaningJob(dependencies: {
  catalog: CapabilityCatalog
  database: Database
  embedder: Embedder | undefined
  logger: Logger
}): MeaningJob {
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
      // What another model made is of no use any more.
      await writer.deleteFrom('capability_vectors').where('capability_id', 'in', ids).execute()
      await writer.insertInto('capability_vectors').values(rows).execute()
    })
    for (const { capability, packed } of made) {
      if (index.holds(capability)) index.putVectors(capability.id, numbersOf(packed))
    }
  }

  /** A file that cannot be read says nothing: whoever calls the capability is told. */
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
    retry: () => left.splice(0).forEach(add),
    async settled() {
      await working
    },
    async close() {
      ended.abort()
      await working
    },
  }
}

function numbersOf(packed: Uint8Array): CapabilityVectors<Int8Array> {
  const { said, whole } = unpackVectors(packed)
  return { said: vectorNumbers(said), whole: vectorNumbers(whole) }
}
