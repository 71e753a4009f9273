import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../../../base/logger.ts'
import type { Embedder } from '../../../memory/embedding/embedder.ts'
import type { Database } from '../../../storage/database.ts'
import { toVectorBytes, vectorNumbers } from '../../../storage/vector-bytes.ts'
import type { Capability } from '../capability.ts'
import { firstLines, indexedText, meaningKey, meaningText } from './capability-text.ts'
import type { CapabilityCatalog } from './catalog.ts'
import type { UserIndex } from './user-index.ts'

/** Brings into the indexes what takes time, in the background: notes from the disk, vectors from the database or the model. */
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
    for (const [id, vector] of stored) index.putVector(id, vector)
    for (let from = 0; from < capabilities.length && !ended.signal.aborted; from += perBatch) {
      const batch = capabilities.slice(from, from + perBatch)
      const notes = new Map(await Promise.all(batch.map(async (one) => [one.id, await readNotes(one)] as const)))
      const noteOf = ({ id }: Capability) => notes.get(id) ?? ''
      for (const one of batch) if (noteOf(one) !== '' && index.holds(one)) putWords(index, one, noteOf(one))
      const lacking = batch.filter(({ id }) => !stored.has(id))
      if (embedder && lacking.length > 0) await embed(embedder, index, lacking, noteOf)
    }
  }

  async function readStored(userId: string, capabilities: readonly Capability[]): Promise<Map<string, Int8Array>> {
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
    return new Map(current.map((row) => [row.capability_id, vectorNumbers(row.vector)]))
  }

  async function embed(
    model: Embedder,
    index: UserIndex,
    capabilities: readonly Capability[],
    noteOf: (capability: Capability) => string,
  ): Promise<void> {
    const texts = capabilities.map((capability) => meaningText(capability, noteOf(capability)))
    const vectors = await model.embed(texts, 'memory', ended.signal)
    const rows = capabilities.flatMap((capability, at) => {
      const vector = vectors[at]
      if (!vector) return []
      const row = { model: model.model, text_hash: meaningKey(capability), vector: toVectorBytes(vector) }
      return [{ capability_id: capability.id, ...row }]
    })
    await database.write(async (writer) => {
      const ids = rows.map((row) => row.capability_id)
      // What another model made is of no use any more.
      await writer.deleteFrom('capability_vectors').where('capability_id', 'in', ids).execute()
      await writer.insertInto('capability_vectors').values(rows).execute()
    })
    for (const [at, { capability_id, vector }] of rows.entries()) {
      const capability = capabilities[at]
      if (capability && index.holds(capability)) index.putVector(capability_id, vectorNumbers(vector))
    }
  }

  /** A file that cannot be read says nothing: whoever calls the capability is told. */
  async function readNotes({ userId, name, version }: Capability): Promise<string> {
    const found = await catalog.version(userId, name, version ?? undefined)
    const text = found && (await readFile(join(found.directory, 'RUN.md'), 'utf8').catch(() => ''))
    return firstLines(text ?? '')
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

function putWords(index: UserIndex, capability: Capability, notes: string): void {
  index.words.put(capability.id, indexedText(capability, notes))
}
