import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLife } from '../../recall-scale/life.ts'
import { hashEmbedder } from '../contestants/hash-embedder.ts'
import { loadPeer } from '../contestants/load-peer.ts'
import { type Searcher, searchAndTell } from './search-and-tell.ts'

interface MastraMemory {
  createThread(thread: object): Promise<unknown>
  saveMessages(saved: { messages: object[] }): Promise<unknown>
  recall(asked: object): Promise<{ messages: { id: string }[] }>
}

const { Memory } = await loadPeer<{ Memory: new (options: object) => MastraMemory }>('@mastra/memory')
const { LibSQLStore, LibSQLVector } =
  await loadPeer<Record<'LibSQLStore' | 'LibSQLVector', new (options: object) => object>>('@mastra/libsql')

const folder = mkdtempSync(join(tmpdir(), 'familiar-bench-mastra-'))
const url = `file:${join(folder, 'mastra.db')}`
const memory = new Memory({
  storage: new LibSQLStore({ id: 'store', url }),
  vector: new LibSQLVector({ id: 'vectors', url }),
  embedder: hashEmbedder,
  options: { lastMessages: false, semanticRecall: { topK: 20, messageRange: 0, scope: 'resource' } },
})
const resourceId = 'bench'
const threadId = 'life'

/** All lines in one thread of one resource, each saved and embedded as its own message. */
const mastra: Searcher = {
  async fill(size) {
    const life = createLife({ seed: 7, lines: size })
    await memory.createThread({ threadId, resourceId })
    for (let first = 0; first < size; first += 500) {
      const messages = Array.from({ length: Math.min(500, size - first) }, (_, offset) => {
        const { content, at, position } = life.line(first + offset)
        return {
          id: String(first + offset),
          threadId,
          resourceId,
          role: position % 2 === 0 ? 'user' : 'assistant',
          createdAt: new Date(at),
          content: { format: 2, parts: [{ type: 'text', text: content }], content },
        }
      })
      await memory.saveMessages({ messages })
    }
    return life
  },
  async search(text) {
    const { messages } = await memory.recall({ threadId, resourceId, vectorSearchString: text, perPage: 0 })
    return messages.map(({ id }) => Number(id))
  },
}

await searchAndTell(mastra)
rmSync(folder, { recursive: true, force: true })
