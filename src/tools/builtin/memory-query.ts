import { z } from 'zod'
import { readDates } from '../../memory/recall/read-dates.ts'
import { defineTool, failed, succeeded } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import type { MemoryNeeds } from './memory-needs.ts'
import { type ShownMemory, tellMemories } from './memory-text.ts'
import { queryFacts } from './query-facts.ts'
import { queryTime } from './query-time.ts'
import { renderMemories, showMemories } from './render-memories.ts'
import { showCommitment } from './show-commitment.ts'

const usualLimit = 10
const mostMemories = 50
const mostByWords = 5
/** Stands between what answers the question exactly and what its words found. */
const foundByWords = 'Found by words:'

const input = z.object({
  about: z.string().optional().describe('whom or what facts are of; "user" for the user'),
  attributes: z.array(z.string()).optional(),
  value: z.string().optional(),
  who: z.string().optional().describe('who promised or owes'),
  to: z.string().optional(),
  when: z.string().optional().describe('"last week", "in May", "2026-05-03"'),
  words: z.string().optional().describe('further search words'),
  history: z.boolean().optional().describe('also what is no longer true'),
  limit: z.int().min(1).max(mostMemories).default(usualLimit),
})

type MemoryQuestion = z.output<typeof input>

/** Exact questions: facts, promises and what was said when; what words find comes after that. */
export function createMemoryQuery(needs: MemoryNeeds): Tool {
  const { commitments, recall, clock, timeZone } = needs
  return defineTool({
    name: 'memory_query',
    description:
      'Ask memory exactly: facts by attribute or value, with a count; open promises by person; what was said when.',
    input,
    effect: 'idempotent',
    async run(question, { userId, signal }) {
      const range = question.when === undefined ? undefined : readDates(question.when, clock.now(), timeZone)
      if (question.when !== undefined && !range) return failed('"when" names no day that can be read.')
      const asksFacts = [question.about, question.attributes, question.value].some((given) => given !== undefined)
      const asksPromises = question.who !== undefined || question.to !== undefined
      const facts = asksFacts ? await queryFacts(needs, { ...question, userId, range }) : undefined
      const exact: ShownMemory[] = [...(facts?.found ?? [])]
      if (asksPromises) exact.push(...(await openCommitments(userId, question)))
      const { words, limit } = question
      const asksTime = range !== undefined && !asksFacts && !asksPromises
      if (asksTime) exact.push(...(await queryTime(needs, { userId, range, words: words ?? '', limit, signal })))
      const known = new Set(exact.map(({ id }) => id))
      const further = asksTime || words === undefined ? [] : await byWords(userId, words, signal)
      const others = further.filter(({ id }) => !known.has(id))
      const render = (memories: readonly ShownMemory[]) => renderMemories(memories, words ?? '', timeZone)
      const parts = [
        ...(facts ? [`Count: ${facts.count}`] : []),
        ...(exact.length > 0 ? [render(exact)] : []),
        ...(others.length > 0 ? [foundByWords, render(others)] : []),
      ]
      const found = [...exact, ...others]
      if (found.length === 0) return succeeded([...parts, 'Nothing noted.'].join('\n'))
      return tellMemories(parts.join('\n'), found)
    },
  })

  async function byWords(userId: string, text: string, signal: AbortSignal): Promise<ShownMemory[]> {
    const recalled = await recall.recall({ userId, text, limit: mostByWords, signal })
    const memories = recalled.map(({ memory }) => memory)
    return await showMemories(needs, userId, memories)
  }

  /** Those that are overdue too: they are still owed. */
  async function openCommitments(userId: string, { who, to, limit }: MemoryQuestion): Promise<ShownMemory[]> {
    const listed = await commitments.list({
      userId,
      states: ['open', 'expired'],
      limit,
      ...(who !== undefined && { who }),
      ...(to !== undefined && { toWhom: to }),
    })
    return listed.map((commitment) => showCommitment(commitment, timeZone))
  }
}
