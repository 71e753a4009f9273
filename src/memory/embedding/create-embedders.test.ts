import { expect, it } from 'vitest'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { createEmbedders } from './embedders.ts'

const dependencies = { modelFolder: '/nowhere', clock: createManualClock(), random: () => 0 }

it('MEM-15 finds the embedder of earlier models if possible', async () => {
  const local = createEmbedders({ provider: 'local' }, dependencies)
  expect(local.current?.model).toBe('bge-small-en-v1.5-int8/1')
  expect(local.byModel('bge-small-en-v1.5-int8/1')).toBe(local.current)
  expect(local.byModel('ollama/bge-m3')).toBeUndefined()

  const ollama = createEmbedders({ provider: 'ollama', model: 'bge-m3' }, dependencies)
  expect(ollama.current?.model).toBe('ollama/bge-m3')
  expect(ollama.byModel('bge-small-en-v1.5-int8/1')?.model).toBe('bge-small-en-v1.5-int8/1')
  const older = ollama.byModel('ollama/nomic-embed-text:v1.5')
  expect(older?.model).toBe('ollama/nomic-embed-text:v1.5')
  expect(ollama.byModel('ollama/nomic-embed-text:v1.5')).toBe(older)
  expect(ollama.byModel('openai-compatible/bge-m3')).toBeUndefined()

  const off = createEmbedders({ provider: 'off' }, dependencies)
  expect(off.current).toBeUndefined()
  expect(off.byModel('bge-small-en-v1.5-int8/1')).toBeUndefined()
  await Promise.all([local, ollama, off].map((embedders) => embedders.close()))
})
