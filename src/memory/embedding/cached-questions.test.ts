import { expect, it } from 'vitest'
import { cachedQuestions, type Embedder } from './embedders.ts'

function countingEmbedder() {
  const asked: string[] = []
  const embedder: Embedder = {
    model: 'some/1',
    dimensions: 1,
    async embed(texts, use) {
      asked.push(...texts.map((text) => `${use} ${text}`))
      return texts.map((text) => Float32Array.of(text.length))
    },
    close: async () => undefined,
  }
  return { asked, cached: cachedQuestions(embedder) }
}

it('MEM-15 embeds the same question once, and memories every time', async () => {
  const { asked, cached } = countingEmbedder()
  expect(await cached.embed(['a', 'bb'], 'question')).toEqual([Float32Array.of(1), Float32Array.of(2)])
  expect(await cached.embed(['bb'], 'question')).toEqual([Float32Array.of(2)])
  await cached.embed(['a'], 'memory')
  expect(asked).toEqual(['question a', 'question bb', 'memory a'])
})

it('MEM-15 evicts the least recently asked question', async () => {
  const { asked, cached } = countingEmbedder()
  for (let number = 0; number < 256; number += 1) await cached.embed([`${number}`], 'question')
  await cached.embed(['0'], 'question')
  await cached.embed(['new'], 'question')
  asked.length = 0
  for (const text of ['0', 'new', '2', '1']) await cached.embed([text], 'question')
  expect(asked).toEqual(['question 1'])
})
