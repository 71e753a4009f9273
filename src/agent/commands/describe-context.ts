import type { ContextReport } from '../conversations.ts'
import { formatTokens } from './command-text.ts'

const barWidth = 30

/** Per block its share of all as a bar: full where the provider has it cached, light where it is read anew. */
export function describeContext(report: ContextReport): string {
  const { blocks, lastRequestTokens, thresholdTokens } = report
  const sum = (some: ContextReport['blocks']) => some.reduce((total, { tokens }) => total + tokens, 0)
  const total = sum(blocks)
  const rows = blocks.map(({ name, tier, tokens, cached }) => {
    const share = total === 0 ? 0 : tokens / total
    const bar = (cached ? '█' : '░').repeat(Math.max(1, Math.round(share * barWidth)))
    return [name, tier, formatTokens(tokens), cached ? 'cached' : 'fresh', `${bar} ${Math.round(share * 100)}%`]
  })
  const widths = [0, 1, 2, 3].map((column) => Math.max(0, ...rows.map((row) => row[column]?.length ?? 0)))
  const cached = sum(blocks.filter((block) => block.cached))
  return [
    ...rows.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')),
    `${formatTokens(total)} tokens (${report.tokenizer}), of which ${formatTokens(cached)} cached.`,
    lastRequestTokens === null
      ? 'No request was sent yet.'
      : `The last request had ${formatTokens(lastRequestTokens)} tokens by the provider's count.`,
    `The oldest part is summarised at ${formatTokens(thresholdTokens)} tokens.`,
  ].join('\n')
}
