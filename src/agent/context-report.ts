import { estimateTokens, tokenizerName } from '../base/tokens.ts'
import type { SystemBlock } from '../models/model.ts'
import type { Projection } from '../sessions/projection.ts'
import type { ToolView } from '../tools/registry.ts'
import type { ContextReport } from './conversations.ts'
import { offeredTools } from './offered-tools.ts'
import { estimateEntry } from './request-size.ts'

/** What fills the window, block by block. Cached is what the request before held already. */
export function reportContext(facts: {
  projection: Projection
  system: readonly SystemBlock[]
  tools: ToolView
  thresholdTokens: number
}): ContextReport {
  const { projection, system, tools, thresholdTokens } = facts
  const { entries, counted } = projection
  const begun = counted.entries > 0
  const sum = (from: number, to: number) =>
    entries.slice(from, to).reduce((total, entry) => total + estimateEntry(entry, projection), 0)
  const offered = offeredTools(tools, projection.foundTools)
  return {
    tokenizer: tokenizerName,
    lastRequestTokens: begun ? counted.tokens : null,
    thresholdTokens,
    blocks: [
      { name: 'tools', tier: 'stable', tokens: estimateTokens(JSON.stringify(offered)), cached: begun },
      ...system.map(({ name, tier, text }) => ({ name, tier, tokens: estimateTokens(text), cached: begun })),
      { name: 'conversation', tier: 'history', tokens: sum(0, counted.entries), cached: true },
      { name: 'new messages', tier: 'dynamic', tokens: sum(counted.entries, entries.length), cached: false },
    ].filter((block) => block.tokens > 0),
  }
}
