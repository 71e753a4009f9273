import { exchangeStarts } from './messages.ts'
import type { Entry, Projection } from './projection.ts'

export interface CompactionPlan {
  throughSeq: number
  entries: Entry[]
}

const leastEntries = 4

/**
 * Which part of the conversation a summary may replace: about the oldest `share` of it, cut only where an exchange
 * begins, so that no call is parted from its result and the newest exchange always stays. Undefined where that leaves
 * nothing to replace, or a turn is under way.
 */
export function planCompaction(projection: Projection, share: number): CompactionPlan | undefined {
  const { entries } = projection
  if (entries.length < leastEntries || projection.turn) return undefined
  const starts = exchangeStarts(entries).filter((index) => index > 0)
  const target = Math.floor(entries.length * share)
  const cut = starts.findLast((index) => index <= target) ?? starts[0]
  const first = cut === undefined ? undefined : entries[cut]
  if (cut === undefined || !first) return undefined
  return { throughSeq: first.seq - 1, entries: entries.slice(0, cut) }
}

const maxResultCharacters = 2_000

/** The part as plain text, for the model that summarises it. */
export function transcriptOf(plan: CompactionPlan, projection: Projection): string {
  return plan.entries.map((entry) => describeEntry(entry, projection)).join('\n\n')
}

function describeEntry(entry: Entry, projection: Projection): string {
  if (entry.role === 'user') {
    const files = entry.media.map((media) => `[attached: ${media.name}]`)
    return ['User:', ...(entry.shown ?? entry.texts), ...files].join('\n')
  }
  const lines = entry.parts.flatMap((part) => {
    if (part.type === 'thinking') return []
    if (part.type === 'text') return [part.text]
    const result = projection.results[part.id]
    const told = result ? `${result.isError ? 'error: ' : ''}${result.text.slice(0, maxResultCharacters)}` : 'unknown'
    return [`[called ${part.name} with ${JSON.stringify(part.input)}; result: ${told}]`]
  })
  return ['Agent:', ...lines].join('\n')
}
