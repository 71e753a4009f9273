import { dirname } from 'node:path'
import { learnPlainly } from '../../src/memory/learning/extraction.ts'
import { createOfflineModel } from '../../src/models/offline/offline-model.ts'
import type { AssistantPart, ModelMessage, ToolResult } from '../../src/protocol/messages.ts'
import type { MemoryStore } from './memory-store.ts'
import { createMemoryTools } from './memory-tools.ts'

const maxRounds = 10

/** A conversation with the offline model over real memory: turns as the loop runs them, in small, with learning. */
export function openOfflineTalk(store: MemoryStore) {
  const tools = createMemoryTools({ ...store, workspace: dirname(store.path) })
  const model = createOfflineModel(store)
  const messages: ModelMessage[] = []
  const learning = { ...tools, database: store.database, timeZone: 'UTC' }
  let pending: string | null = null
  let turns = 0

  async function ask(): Promise<AssistantPart[]> {
    const core = tools.registry.list().filter((tool) => tool.core)
    const request = {
      system: [],
      messages,
      tools: core.map((tool) => tool.definition),
      maxTokens: 1_000,
      loadMedia: async () => new Uint8Array(),
    }
    for await (const event of model.stream(request, new AbortController().signal)) {
      if (event.type === 'finished') return event.response.parts
    }
    throw new Error('the model did not finish')
  }

  /** The user's view of the turn's end. */
  async function send(text: string): Promise<string> {
    turns += 1
    const turnId = `turn-${turns}`
    const answers = pending
    pending = null
    const asked = answers === null ? '' : `\nYou had asked: ${answers} This message is the answer.`
    messages.push({
      role: 'user',
      parts: [
        { type: 'text', text: `<context>\nNow: today${asked}\n</context>` },
        { type: 'text', text },
      ],
    })
    for (let round = 0; round < maxRounds; round += 1) {
      const parts = await ask()
      messages.push({ role: 'assistant', parts })
      const calls = parts.filter((part) => part.type === 'tool_call')
      if (calls.length === 0) {
        const said = {
          userId: 'max',
          sessionId: 'session',
          turnId,
          at: store.clock.now(),
          label: 'internal' as const,
          text,
        }
        await learnPlainly(learning, said)
        return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
      }
      const results: ToolResult[] = []
      for (const { id, name, input } of calls) {
        const outcome = await tools.run(name, input, { turnId, callId: id, userText: text, answers })
        results.push({ callId: id, name, text: outcome.text, isError: outcome.isError })
        pending = outcome.question ?? pending
      }
      messages.push({ role: 'tool', results })
      if (pending !== null) return pending
    }
    throw new Error('the turn does not end')
  }
  return { ...tools, send }
}

export type OfflineTalk = ReturnType<typeof openOfflineTalk>
