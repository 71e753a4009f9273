import { join } from 'node:path'
import { folder, modelUrl, offersTool, serveAnswers, systemPrompt, tool } from '../../contestants/loop-server.ts'
import { hashEmbedder } from './hash-embedder.ts'
import { loadPeer } from './load-peer.ts'

interface MastraAgent {
  stream(message: string, options: object): Promise<{ text: Promise<string> }>
}

const { Agent } = await loadPeer<{ Agent: new (options: object) => MastraAgent }>('@mastra/core/agent')
const { createTool } = await loadPeer<{ createTool(options: object): object }>('@mastra/core/tools')
const { Memory } = await loadPeer<{ Memory: new (options: object) => object }>('@mastra/memory')
const { LibSQLStore, LibSQLVector } =
  await loadPeer<Record<'LibSQLStore' | 'LibSQLVector', new (options: object) => object>>('@mastra/libsql')
const { z } = await loadPeer<typeof import('zod')>('zod')

const url = `file:${join(folder, 'mastra.db')}`
const recalls = process.argv[5] === 'recall'
const memory = new Memory({
  storage: new LibSQLStore({ id: 'store', url }),
  ...(recalls && {
    vector: new LibSQLVector({ id: 'vectors', url }),
    embedder: hashEmbedder,
    options: { semanticRecall: true },
  }),
})
const { name, description, run } = tool
const lookUp = createTool({
  id: name,
  description,
  inputSchema: z.object({ word: z.string() }),
  execute: async (input: { word: string }) => run(input),
})
const agent = new Agent({
  id: 'bench',
  name: 'bench',
  instructions: systemPrompt,
  model: { id: 'fake/fake-model', url: `${modelUrl}/v1`, apiKey: 'none' },
  memory,
  ...(offersTool && { tools: { [name]: lookUp } }),
})

serveAnswers(async (message, session) => {
  const answer = await agent.stream(message, { memory: { thread: session, resource: 'bench' } })
  return await answer.text
})
