import { estimateTokens } from '../base/tokens.ts'
import type { SystemBlock } from '../models/model.ts'
import type { ToolDefinition } from '../protocol/tool.ts'
import type { Entry, Projection } from '../sessions/projection.ts'

const tokensOfImage = 1_600

/** What the next request will hold: what the provider counted last time, and an estimate of what came since. */
export function estimateRequestTokens(
  projection: Projection,
  system: readonly SystemBlock[],
  tools: readonly ToolDefinition[],
): number {
  const { counted, entries } = projection
  const known = counted.entries > 0 && counted.entries <= entries.length
  const lastCounted = known ? entries[counted.entries - 1] : undefined
  let tokens = known ? counted.tokens : estimateFixed(system, tools)
  for (const entry of known ? entries.slice(counted.entries) : entries) tokens += estimateEntry(entry, projection)
  if (lastCounted) tokens += estimateResults(lastCounted, projection)
  return tokens
}

function estimateFixed(system: readonly SystemBlock[], tools: readonly ToolDefinition[]): number {
  const blocks = system.reduce((sum, block) => sum + estimateTokens(block.text), 0)
  return blocks + tools.reduce((sum, tool) => sum + estimateTokens(JSON.stringify(tool)), 0)
}

export function estimateEntry(entry: Entry, projection: Projection): number {
  if (entry.role === 'user') {
    const images = entry.media.length * tokensOfImage
    return estimateTokens(entry.context) + estimateTokens((entry.shown ?? entry.texts).join('\n')) + images
  }
  const spoken = entry.parts.reduce(
    (sum, part) => sum + estimateTokens(part.type === 'tool_call' ? JSON.stringify(part.input) : part.text),
    0,
  )
  return spoken + estimateResults(entry, projection)
}

function estimateResults(entry: Entry, projection: Projection): number {
  if (entry.role !== 'assistant') return 0
  return entry.parts.reduce((sum, part) => {
    const result = part.type === 'tool_call' ? projection.results[part.id] : undefined
    return sum + (result ? estimateTokens(result.text) : 0)
  }, 0)
}
