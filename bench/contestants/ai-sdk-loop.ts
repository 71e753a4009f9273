import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { isStepCount, type ModelMessage, streamText, tool as toolOf } from 'ai'
import { z } from 'zod'
import { modelUrl, offersTool, serveLoop, systemPrompt, tool } from './loop-server.ts'

const provider = createOpenAICompatible({ name: 'fake', baseURL: `${modelUrl}/v1`, apiKey: 'none' })
const { name, description, run } = tool
const inputSchema = z.object({ word: z.string() })
const tools = { [name]: toolOf({ description, inputSchema, execute: async (input) => run(input) }) }

serveLoop<ModelMessage>(async (messages) => {
  const result = streamText({
    model: provider('fake-model'),
    system: systemPrompt,
    messages,
    ...(offersTool && { tools, stopWhen: isStepCount(4) }),
  })
  const text = await result.text
  // The last message is kept by the server; what came before it, calls and results, belongs in between.
  if (offersTool) messages.push(...(await result.responseMessages).slice(0, -1))
  return text
})
