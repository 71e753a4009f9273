import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { streamText } from 'ai'
import { modelUrl, serveLoop, systemPrompt } from './loop-server.ts'

const provider = createOpenAICompatible({ name: 'fake', baseURL: `${modelUrl}/v1`, apiKey: 'none' })

serveLoop(async (messages) => {
  const result = streamText({ model: provider('fake-model'), system: systemPrompt, messages })
  return await result.text
})
