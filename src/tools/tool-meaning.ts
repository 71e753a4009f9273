import { sha256 } from '../base/hash.ts'
import type { Logger } from '../base/logger.ts'
import type { Embedder } from '../memory/embedding/embedder.ts'
import { localModel } from '../memory/embedding/local/local-embedder.ts'
import type { Database } from '../storage/database.ts'
import { fromVectorBytes, toVectorBytes } from '../storage/vector-bytes.ts'
import type { Closeness } from './rank-tools.ts'
import type { Tool } from './tool.ts'

/** How close tools are in meaning to a question. Empty where that cannot be told: words then decide alone. */
export type ToolMeaning = (tools: readonly Tool[], query: string, signal: AbortSignal) => Promise<Closeness>

/**
 * Cosines below which two texts have nothing to do with each other. The contract says 0.35, which fits models that put
 * such texts near zero. The local model puts them near 0.5, so that 0.35 lets everything through. Measured there with 28
 * questions that one of 18 tools answers: words alone have it among the first five 7 times, with meaning from 0.53 on 27
 * times, from 0.57 on 23 times; questions that none answers bring half as many tools with 0.53 as with 0.35.
 */
const usualThreshold = 0.35
const thresholds: Readonly<Record<string, number>> = { [localModel]: 0.53 }

const longestText = 1_500
const mostTools = 500
/** The model may have to be started first. Whoever looks for a tool does not wait longer. */
const mostMs = 5_000

/** Vectors of tools are kept in the database, and made again only when what a tool says of itself has changed. */
export function createToolMeaning(dependencies: {
  database: Database
  embedder: Embedder
  logger: Logger
}): ToolMeaning {
  const { database, embedder, logger } = dependencies
  const known = new Map<string, { hash: string; vector: Float32Array }>()

  async function vectorsOf(tools: readonly Tool[], signal: AbortSignal): Promise<ReadonlyMap<string, Float32Array>> {
    const wanted = tools.slice(0, mostTools).map((tool) => {
      const text = textOf(tool)
      return { name: tool.definition.name, text, hash: sha256(text) }
    })
    const isKnown = ({ name, hash }: { name: string; hash: string }) => known.get(name)?.hash === hash
    if (!wanted.every(isKnown)) await readStored()
    const fresh = wanted.filter((one) => !isKnown(one))
    if (fresh.length > 0)
      await embedFresh(
        fresh,
        wanted.map(({ name }) => name),
        signal,
      )
    return new Map(
      wanted.flatMap((one) => {
        const vector = known.get(one.name)?.vector
        return vector ? [[one.name, vector] as const] : []
      }),
    )
  }

  async function readStored(): Promise<void> {
    const rows = await database.read
      .selectFrom('tool_vectors')
      .selectAll()
      .where('model', '=', embedder.model)
      .limit(mostTools)
      .execute()
    for (const row of rows) known.set(row.tool, { hash: row.text_hash, vector: fromVectorBytes(row.vector) })
  }

  async function embedFresh(
    fresh: readonly { name: string; text: string; hash: string }[],
    names: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const vectors = await embedder.embed(
      fresh.map(({ text }) => text),
      'memory',
      signal,
    )
    const rows = fresh.flatMap(({ name, hash }, index) => {
      const vector = vectors[index]
      if (!vector) return []
      known.set(name, { hash, vector })
      return [{ tool: name, model: embedder.model, text_hash: hash, vector: toVectorBytes(vector) }]
    })
    await database.write(async (writer) => {
      // What another model made, and what is left of tools that are gone, is of no use.
      await writer
        .deleteFrom('tool_vectors')
        .where((where) => where.or([where('model', '!=', embedder.model), where('tool', 'not in', names)]))
        .execute()
      for (const row of rows) {
        const { tool: _tool, model: _model, ...change } = row
        await writer
          .insertInto('tool_vectors')
          .values(row)
          .onConflict((conflict) => conflict.columns(['tool', 'model']).doUpdateSet(change))
          .execute()
      }
    })
  }

  return async (tools, query, signal) => {
    if (tools.length === 0) return new Map()
    const limited = AbortSignal.any([signal, AbortSignal.timeout(mostMs)])
    try {
      const [vectors, [question]] = await Promise.all([
        vectorsOf(tools, limited),
        embedder.embed([query], 'question', limited),
      ])
      if (!question) return new Map()
      return new Map(
        Array.from(vectors, ([name, vector]) => [name, closenessOf(cosine(question, vector), embedder.model)]),
      )
    } catch (error) {
      signal.throwIfAborted()
      logger.debug('tools are ranked by their words alone', { error })
      return new Map()
    }
  }
}

function textOf({ definition, documentation = '' }: Tool): string {
  const name = definition.name.replaceAll(/[_-]+/g, ' ')
  return `${name}: ${definition.description} ${documentation}`.slice(0, longestText).toWellFormed().trim()
}

/** 0 where the model puts two texts no nearer than any two, 1 where they are the same to it. */
export function closenessOf(cosine: number, model: string): number {
  const threshold = thresholds[model] ?? usualThreshold
  return Math.max(0, (cosine - threshold) / (1 - threshold))
}

/** Both have the length one. */
function cosine(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return 0
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
}
