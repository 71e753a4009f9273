import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { createIds } from '../../src/base/ids.ts'
import { createFacts } from '../../src/memory/facts.ts'
import { createMemories } from '../../src/memory/memories.ts'
import { type Database, toVectorBytes } from '../../src/storage/database.ts'
import { openSqlite } from '../../src/storage/sqlite/open-sqlite.ts'

export interface FilledSizes {
  memories: number
  sessions: number
  eventsOfSession: number
}

const userId = 'user-of-the-filled'
const dimensions = 384
const memoriesPerUnit = 500

/** The database of a home in use: sessions with what was said, memories of several kinds with words and vectors. */
export async function fillDatabase(path: string, sizes: FilledSizes): Promise<void> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const database = await openSqlite({ path, clock: systemClock(), snapshotDirectory: dirname(path) })
  try {
    await database.write((writer) =>
      writer.insertInto('users').values({ id: userId, name: 'Ada', role: 'owner', created_at: 1 }).execute(),
    )
    for (let index = 0; index < sizes.sessions; index += 1) await addSession(database, index, sizes.eventsOfSession)
    await addMemories(database, sizes.memories)
  } finally {
    await database.close()
  }
}

async function addSession(database: Database, index: number, events: number): Promise<void> {
  const id = `session-${index}`
  const times = { created_at: index, updated_at: index }
  await database.write(async (writer) => {
    await writer
      .insertInto('sessions')
      .values({
        ...{ id, user_id: userId, channel: 'cli', contact: `contact-${index}`, state: 'active' },
        ...{ last_seq: events, last_input_tokens: 0, ...times },
      })
      .execute()
    const rows = Array.from({ length: events }, (_, at) => ({
      ...{ session_id: id, seq: at + 1, type: 'message_received', turn_id: `${id}-${at >> 2}`, at },
      data: JSON.stringify({ text: `The ${at}th thing said, 👍 and \0 ${'so on '.repeat((at * 7) % 60)}` }),
    }))
    await writer.insertInto('session_events').values(rows).execute()
  })
}

async function addMemories(database: Database, count: number): Promise<void> {
  const clock = systemClock()
  const memories = createMemories({ database, clock, ids: createIds(clock) })
  const facts = createFacts({ database, clock, memories })
  for (let first = 0; first < count; first += memoriesPerUnit) {
    await database.write(async (writer) => {
      for (let index = first; index < Math.min(count, first + memoriesPerUnit); index += 1) {
        if (index % 10 === 0) {
          const fact = { entity: `person ${index % 997}`, attribute: 'number', value: String(index) }
          await facts.writeIn(writer, { userId, source: 'user', ...fact })
        } else {
          const content = `Memory ${index} of the ${wordOf(index)} and the ${wordOf(index * 31)}, in ${wordOf(index * 7)}`
          await memories.addIn(writer, { userId, kind: 'note', content, source: 'agent', tags: [wordOf(index)] })
        }
      }
    })
  }
  await addVectors(database)
}

async function addVectors(database: Database): Promise<void> {
  for (let after = 0; ; ) {
    const page = await database.read
      .selectFrom('memories')
      .select(['number', 'content_hash'])
      .where('number', '>', after)
      .orderBy('number')
      .limit(memoriesPerUnit)
      .execute()
    if (page.length === 0) return
    const rows = page.map(({ number, content_hash }) => ({
      ...{ number, user_id: userId, model: 'made', text_hash: content_hash },
      vector: toVectorBytes(Float32Array.from({ length: dimensions }, (_, at) => Math.sin(number * (at + 1)))),
    }))
    await database.write((writer) => writer.insertInto('memory_vectors').values(rows).execute())
    after = page.at(-1)?.number ?? after
  }
}

const words = ['ladder', 'garden', 'piano', 'kettle', 'bicycle', 'letter', 'attic', 'window', 'orchard', 'harbour']

function wordOf(index: number): string {
  return `${words[index % words.length]}${index % 113}`
}
