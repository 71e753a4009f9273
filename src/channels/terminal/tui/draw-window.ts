import { wrapTextWithAnsi } from '@earendil-works/pi-tui'
import type { ContextReply } from '../../../protocol/api.ts'
import { shortCount } from './draw-status.ts'
import type { Theme } from './theme.ts'

interface Tier {
  name: string
  tokens: number
  cached: number
}

const fills = ['█', '▓', '▒', '░', '▚', '▞']

/** The context window as a bar by tier, what is free as a line, and a legend below. */
export function drawWindow(report: ContextReply, drawing: { width: number; theme: Theme }): string[] {
  const { width, theme } = drawing
  const paints = [theme.accent, theme.good, theme.warning, theme.accent, theme.good, theme.warning]
  const tiers = tiersOf(report)
  const total = tiers.reduce((sum, { tokens }) => sum + tokens, 0)
  const room = Math.max(total, report.threshold_tokens)
  const columns = Math.max(10, Math.min(width, 72))
  const cells = share([...tiers.map(({ tokens }) => tokens), room - total], columns)
  const bar = tiers.map((_, place) =>
    (paints[place % paints.length] ?? theme.dim)(fillOf(place).repeat(cells[place] ?? 0)),
  )
  const free = theme.dim('·'.repeat(cells.at(-1) ?? 0))
  const percent = room === 0 ? 0 : Math.round((total / room) * 100)
  const nameWidth = Math.max(4, ...tiers.map(({ name }) => name.length))
  const legend = tiers.map(({ name, tokens, cached }, place) => {
    const mark = (paints[place % paints.length] ?? theme.dim)(fillOf(place))
    const note = cached > 0 ? theme.dim(` ${shortCount(cached)} cached`) : ''
    return `${mark} ${name.padEnd(nameWidth)} ${shortCount(tokens).padStart(6)}${note}`
  })
  const summary = `${shortCount(total)} of ${shortCount(room)} tokens (${percent} %); the oldest part is summarised at ${shortCount(report.threshold_tokens)}.`
  const last =
    report.last_request_tokens === null
      ? 'No request was sent yet.'
      : `The last request had ${shortCount(report.last_request_tokens)} by the provider's count.`
  return [
    bar.join('') + free,
    '',
    ...legend,
    `${theme.dim('·')} ${'free'.padEnd(nameWidth)} ${shortCount(Math.max(0, room - total)).padStart(6)}`,
    '',
    ...[summary, last].flatMap((line) => wrapTextWithAnsi(line, width)).map(theme.dim),
  ]
}

function fillOf(place: number): string {
  return fills[place % fills.length] ?? '█'
}

function tiersOf({ blocks }: ContextReply): Tier[] {
  const tiers = new Map<string, Tier>()
  for (const { tier, tokens, cached } of blocks) {
    const sum = tiers.get(tier) ?? { name: tier, tokens: 0, cached: 0 }
    tiers.set(tier, { name: tier, tokens: sum.tokens + tokens, cached: sum.cached + (cached ? tokens : 0) })
  }
  return [...tiers.values()].filter(({ tokens }) => tokens > 0)
}

/** Whole columns in proportion, one at least for whatever is there, that add up to `columns`. */
export function share(amounts: readonly number[], columns: number): number[] {
  const total = amounts.reduce((sum, amount) => sum + amount, 0)
  if (total <= 0) return amounts.map(() => 0)
  const cells = amounts.map((amount) => (amount > 0 ? Math.max(1, Math.floor((amount / total) * columns)) : 0))
  const rest = columns - cells.reduce((sum, cell) => sum + cell, 0)
  const largest = amounts.indexOf(Math.max(...amounts))
  cells[largest] = Math.max(0, (cells[largest] ?? 0) + rest)
  return cells
}
