import { join } from 'node:path'
import { folder, modelUrl, offersTool, serveAnswers, systemPrompt, tool } from '../../contestants/loop-server.ts'
import { loadPeer } from './load-peer.ts'

interface ReactAgent {
  stream(input: object, config: object): Promise<AsyncIterable<[{ text: string }, { langgraph_node: string }]>>
}

const { createReactAgent } = await loadPeer<{ createReactAgent(options: object): ReactAgent }>(
  '@langchain/langgraph/prebuilt',
)
const { ChatOpenAI } = await loadPeer<{ ChatOpenAI: new (options: object) => object }>('@langchain/openai')
const { tool: toolOf } = await loadPeer<{ tool(run: object, options: object): object }>('@langchain/core/tools')
const { SqliteSaver } = await loadPeer<{ SqliteSaver: { fromConnString(path: string): object } }>(
  '@langchain/langgraph-checkpoint-sqlite',
)
const { z } = await loadPeer<typeof import('zod')>('zod')

const { name, description, run } = tool
const lookUp = toolOf(run, { name, description, schema: z.object({ word: z.string() }) })
const agent = createReactAgent({
  llm: new ChatOpenAI({
    model: 'fake-model',
    apiKey: 'none',
    streaming: true,
    configuration: { baseURL: `${modelUrl}/v1` },
  }),
  tools: offersTool ? [lookUp] : [],
  prompt: systemPrompt,
  checkpointer: SqliteSaver.fromConnString(join(folder, 'langgraph.db')),
})

serveAnswers(async (message, session) => {
  const config = { configurable: { thread_id: session }, streamMode: 'messages' }
  let reply = ''
  const parts = await agent.stream({ messages: [{ role: 'user', content: message }] }, config)
  for await (const [{ text }, { langgraph_node }] of parts) if (langgraph_node === 'agent') reply += text
  return reply
})
