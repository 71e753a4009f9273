import { z } from 'zod'
import { truncateText } from '../../base/text.ts'
import { defineTool, succeeded } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import { formatDate, tellMemories } from './memory-text.ts'

export interface HistoryEntry {
  /** Its place in the session's log. */
  seq: number
  at: number
  role: 'user' | 'assistant' | 'tool'
  text: string
}

/**
 * The newest `limit` entries of the session that lie before `before`, oldest first, also those that a compaction took
 * out of the prompt. Empty where the session does not belong to the user.
 */
export type OpenHistory = (range: {
  sessionId: string
  userId: string
  before: number | undefined
  limit: number
}) => Promise<readonly HistoryEntry[]>

const mostEntries = 50
// The entries share about this much, each with its head.
const answerCharacters = 4_000
const headCharacters = 40

export function createHistoryOpen({ openHistory, timeZone }: { openHistory: OpenHistory; timeZone: string }): Tool {
  return defineTool({
    name: 'history_open',
    description: 'Read earlier messages of this conversation, also those summarised away. `before` pages back.',
    input: z.object({
      before: z.int().min(0).optional(),
      limit: z.int().min(1).max(mostEntries).default(10),
    }),
    effect: 'idempotent',
    async run({ before, limit }, { sessionId, userId, seen }) {
      const entries = await openHistory({ sessionId, userId, before, limit })
      const [oldest] = entries
      if (!oldest) return succeeded('There is nothing earlier.')
      const shown = Math.floor(answerCharacters / entries.length) - headCharacters
      const lines = entries.map((entry) => renderEntry(entry, shown, timeZone))
      const text = [...lines, `[earlier: before ${oldest.seq}]`].join('\n')
      return tellMemories(text, seen.untrusted ? [{ label: 'untrusted' }] : [])
    },
  })
}

function renderEntry(entry: HistoryEntry, limit: number, timeZone: string): string {
  const text = truncateText(entry.text, limit).replaceAll('\n', '\n  ')
  return `#${entry.seq} ${formatDate(entry.at, timeZone)} ${entry.role}: ${text}`
}
