import { z } from 'zod'
import type { DeepRecallProgress } from '../../memory/learning/deep-recall.ts'
import { type SynthesisStyle, synthesisStyles } from '../../memory/learning/synthesis.ts'
import type { Json } from '../../protocol/json.ts'
import { defineTool, succeeded } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import type { MemoryNeeds } from './memory-needs.ts'
import { citeMemory, tellMemories } from './memory-text.ts'
import { renderMemories, showMemories } from './render-memories.ts'

const limit = 20
const usualStyle: SynthesisStyle = 'factual'

/** Watchers are told `expanding`, `searching` and `found`. */
export function createDeepMemory(needs: Pick<MemoryNeeds, 'memories' | 'deepRecall' | 'files' | 'timeZone'>): Tool {
  const { memories, deepRecall, timeZone } = needs
  return defineTool({
    name: 'deep_memory',
    description:
      'Search memory thoroughly: asks in several ways, follows what is related, sums up. Slow; when recall_memory is not enough.',
    input: z.object({ question: z.string().trim().min(1), style: z.enum(synthesisStyles).optional() }),
    effect: 'idempotent',
    async run({ question, style = usualStyle }, { userId, sessionId, signal, progress }) {
      const answer = await deepRecall({
        userId,
        sessionId,
        question,
        limit,
        style,
        signal,
        onProgress: (step) => progress(asJson(step)),
      })
      const found = answer.memories.map(({ memory }) => memory)
      if (found.length === 0) return succeeded('Nothing found.')
      const ids = found.map(({ id }) => id)
      await memories.used(userId, ids)
      const { synthesis } = answer
      const text =
        synthesis.style === 'structured'
          ? renderMemories(await showMemories(needs, userId, found), question, timeZone)
          : `${synthesis.text}\nFrom: ${ids.map(citeMemory).join(' ')}`
      const notes = [answer.note, synthesis.note].filter((note) => note !== undefined)
      return tellMemories([text, ...new Set(notes)].join('\n'), found)
    },
  })
}

function asJson(step: DeepRecallProgress): Json {
  switch (step.status) {
    case 'expanding':
      return { ...step }
    case 'searching':
      return { ...step, searches: [...step.searches] }
    case 'found':
      return { ...step, memories: [...step.memories] }
  }
}
