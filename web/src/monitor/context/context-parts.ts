import type { ContextReply } from '../../../../src/protocol/api.ts'

type Block = ContextReply['blocks'][number]

/** From what never changes to what is new: the order in which a model reads it, and in which a cache can hold it. */
const tiers = ['stable', 'semi_stable', 'history', 'dynamic']

const tierNames: Record<string, string> = {
  stable: 'Always the same',
  semi_stable: 'Changes now and then',
  history: 'The conversation',
  dynamic: 'New',
}
export const tierName = (tier: string) => tierNames[tier] ?? tier

const blockNames: Record<string, string> = {
  tools: 'Tools on offer',
  core: 'How Familiar behaves',
  conversation: 'What was said so far',
  'new messages': 'What was not sent yet',
}
export const blockName = (name: string) => blockNames[name] ?? name

/** The number of a tier's colour; one that is not known here has the last. */
export function tierSeries(tier: string): number {
  const place = tiers.indexOf(tier)
  return place < 0 ? tiers.length : place
}

interface ContextSums {
  total: number
  cached: number
  fresh: number
  /** Of what may be in it before the oldest part is summarised. */
  share: number
}

export function sumsOf({ blocks, threshold_tokens }: ContextReply): ContextSums {
  const sum = (of: readonly Block[]) => of.reduce((total, { tokens }) => total + tokens, 0)
  const total = sum(blocks)
  const cached = sum(blocks.filter((block) => block.cached))
  return { total, cached, fresh: total - cached, share: total / Math.max(1, threshold_tokens) }
}

/** The tiers that there are, in their order. */
export function tiersOf(blocks: readonly Block[]): string[] {
  const found = [...new Set(blocks.map(({ tier }) => tier))]
  return found.sort((a, b) => tierSeries(a) - tierSeries(b))
}
