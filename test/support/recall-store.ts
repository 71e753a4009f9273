import { readDates } from '../../src/memory/dates.ts'
import type { DecayPolicy } from '../../src/memory/decay.ts'
import type { Memory, NewMemory } from '../../src/memory/memory.ts'
import type { FindByMeaning } from '../../src/memory/recall/meaning.ts'
import { createRecall } from '../../src/memory/recall/recall.ts'
import { createKnownSpeakers } from '../../src/memory/recall/window-words.ts'
import { openMemoryStore } from './memory-store.ts'

const timeZone = 'UTC'

/** A real database and the recall over it; by words alone unless a way to find by meaning is given. */
export async function openRecallStore(options: { findByMeaning?: FindByMeaning; decay?: DecayPolicy } = {}) {
  const store = await openMemoryStore({ readDates: (text, at) => readDates(text, at, timeZone) })
  const { database, memories, graph, clock } = store
  const { recall } = createRecall({
    database,
    memories,
    graph,
    speakers: createKnownSpeakers({ database, now: clock.now }),
    clock,
    timeZone,
    ...(options.decay && { decay: () => options.decay ?? 'time' }),
    ...(options.findByMeaning && { findByMeaning: options.findByMeaning }),
  })
  return {
    ...store,
    recall,
    /** A note of Max's, unless it says otherwise. */
    async note(content: string, change: Partial<NewMemory> = {}): Promise<Memory> {
      const added = await memories.add({ userId: 'max', kind: 'note', content, source: 'user', ...change })
      return added.memory
    },
    /** One conversation of Max's, a line a minute, alternating speakers unless `name: ` precedes the line. */
    async talk(threadId: string, lines: readonly string[], change: Partial<NewMemory> = {}): Promise<Memory[]> {
      return await database.write(async (writer) => {
        const told: Memory[] = []
        for (const [position, line] of lines.entries()) {
          const [, speaker = ['user', 'assistant'][position % 2], content = line] = /^(\w+): (.*)$/.exec(line) ?? []
          const place = { threadId, position, speaker, at: clock.now() + position * 60_000 }
          const chunk = {
            userId: 'max',
            kind: 'chunk' as const,
            content,
            source: 'import' as const,
            ...place,
            ...change,
          }
          told.push((await memories.addIn(writer, chunk)).memory)
        }
        return told
      })
    },
    /** The results for Max, as texts, best first. */
    async ask(text: string, limit = 10): Promise<string[]> {
      const found = await recall({ userId: 'max', text, limit })
      return found.map(({ memory }) => memory.content)
    },
  }
}

export type RecallStore = Awaited<ReturnType<typeof openRecallStore>>
