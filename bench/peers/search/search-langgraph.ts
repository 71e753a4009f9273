import { hashDimensions, hashVector } from '../../recall-scale/hash-vector.ts'
import { createLife } from '../../recall-scale/life.ts'
import { loadPeer } from '../contestants/load-peer.ts'
import { type Searcher, searchAndTell } from './search-and-tell.ts'

interface Store {
  batch(operations: object[]): Promise<unknown>
  search(namespace: string[], asked: object): Promise<{ key: string }[]>
}

const { InMemoryStore } = await loadPeer<{ InMemoryStore: new (options: object) => Store }>('@langchain/langgraph')
const embeddings = {
  embedDocuments: async (texts: string[]) => texts.map((text) => [...hashVector(text)]),
  embedQuery: async (text: string) => [...hashVector(text)],
}
const store = new InMemoryStore({ index: { dims: hashDimensions, embeddings, fields: ['text'] } })
const namespace = ['bench']

/** Of its stores only this one is there without a server for PostgreSQL or Redis: it keeps nothing. */
const langgraph: Searcher = {
  async fill(size) {
    const life = createLife({ seed: 7, lines: size })
    for (let first = 0; first < size; first += 500)
      await store.batch(
        Array.from({ length: Math.min(500, size - first) }, (_, offset) => ({
          namespace,
          key: String(first + offset),
          value: { text: life.line(first + offset).content },
        })),
      )
    return life
  },
  async search(text) {
    const items = await store.search(namespace, { query: text, limit: 20 })
    return items.map(({ key }) => Number(key))
  },
}

await searchAndTell(langgraph)
