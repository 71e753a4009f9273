import { availableParallelism } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.ts'
import { createIds } from '../../src/base/ids.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { readDates } from '../../src/memory/dates.ts'
import { createEmbeddingJob } from '../../src/memory/embedding/embed-memories.ts'
import { createEmbedders, type Embedders } from '../../src/memory/embedding/embedders.ts'
import { localModelFolder } from '../../src/memory/embedding/local-embedder.ts'
import { createMemories } from '../../src/memory/memories.ts'
import { createEmbeddingText } from '../../src/memory/recall/meaning.ts'
import { createKnownSpeakers } from '../../src/memory/recall/window-words.ts'
import { splitPassages } from '../../src/memory/words.ts'
import type { Database } from '../../src/storage/database.ts'
import { parallelEmbedder } from './parallel-embedder.ts'
import type { Doc } from './recall-data.ts'

const minuteMs = 60_000
const timeZone = 'UTC'

/** Every doc becomes what a line of conversation becomes: one passage or several. Does nothing in a store that is full. */
export async function fillStore(database: Database, docs: readonly Doc[], say: (line: string) => void): Promise<void> {
  const known = await database.read.selectFrom('users').select('id').limit(1).execute()
  if (known.length > 0) return
  const clock = systemClock()
  const memories = createMemories({
    database,
    clock,
    ids: createIds(clock),
    readDates: (text, at) => readDates(text, at, timeZone),
  })
  for (const [space, lines] of Map.groupBy(docs, (doc) => doc.space)) {
    await database.write(async (writer) => {
      await writer.insertInto('users').values({ id: space, name: space, role: 'user', created_at: 0 }).execute()
      const places = new Map<string, number>()
      let at = 0
      for (const doc of lines) {
        at = timeOf(doc) ?? at + minuteMs
        const text = doc.caption === '' ? doc.text : `${doc.text} ${doc.caption}`
        const passages = splitPassages(text)
        const position = places.get(doc.session) ?? 0
        places.set(doc.session, position + 1)
        for (const [part, content] of passages.entries()) {
          await memories.addIn(writer, {
            userId: space,
            kind: 'chunk',
            content,
            source: 'import',
            threadId: doc.session,
            position,
            passages: passages.length,
            speaker: doc.speaker,
            at,
            id: `${doc.id}#${part}`,
          })
        }
      }
    })
    say(`${space}: ${lines.length} lines`)
  }
}

/** Returns when every memory has its vector. */
export async function embedStore(database: Database, embedders: Embedders, say: (line: string) => void): Promise<void> {
  const { current } = embedders
  if (!current) return
  const helpers = Array.from({ length: Math.min(4, availableParallelism()) - 1 }, () => openEmbedders())
  const shared = parallelEmbedder([current, ...helpers.flatMap((helper) => helper.current ?? [])])
  const clock = systemClock()
  const speakers = createKnownSpeakers({ database, now: clock.now })
  const job = createEmbeddingJob({
    database,
    embedder: shared,
    olderEmbedder: embedders.byModel,
    clock,
    logger: silentLogger,
    embeddingText: createEmbeddingText(speakers),
  })
  job.wake()
  for (;;) {
    const { embedded, total, problem } = await job.status()
    say(`embedded ${embedded} of ${total}`)
    if (problem !== null) throw new Error(problem)
    if (embedded >= total) break
    await setTimeout(2_000)
  }
  await job.close()
  await Promise.all(helpers.map((helper) => helper.close()))
}

export function openEmbedders(): Embedders {
  const clock = systemClock()
  return createEmbedders({ provider: 'local' }, { modelFolder: localModelFolder, clock, random: Math.random })
}

export function docOf(memoryId: string): string {
  return memoryId.slice(0, memoryId.lastIndexOf('#'))
}

function timeOf({ ts, ts_raw }: Doc): number | undefined {
  const time = Date.parse(ts === '' ? ts_raw.replaceAll('-', ' ') : `${ts}Z`)
  return Number.isNaN(time) ? undefined : time
}
