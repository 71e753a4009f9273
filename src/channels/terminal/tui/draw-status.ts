import { truncateToWidth, visibleWidth } from '@earendil-works/pi-tui'
import type { Conversation } from './conversation.ts'
import { formatTook } from './draw-call.ts'
import type { Theme } from './theme.ts'

/** What is known from elsewhere than the conversation's own events. */
export interface StatusFacts {
  session: string
  model: string | undefined
  /** Of the newest request, and where the oldest part is summarised. */
  contextTokens: number | undefined
  windowTokens: number | undefined
  costTodayUsd: number | undefined
}

/** One line at the bottom: the model, how full its window is, what today cost, and what goes on. */
export function drawStatus(
  conversation: Conversation,
  facts: StatusFacts,
  drawing: { width: number; theme: Theme; now: number; hint?: string | undefined },
): string[] {
  const { width, theme, now, hint } = drawing
  const state = hint === undefined ? stateOf(conversation, theme, now) : theme.accent(hint)
  const room = width - 2 - visibleWidth(state)
  const known = [conversation.model ?? facts.model ?? '', used(conversation, facts), cost(conversation, facts)]
  // In a narrow window the least important goes first: the cost, then the window, then the model.
  let parts = [facts.session === 'main' ? '' : facts.session, ...known].filter((part) => part !== '')
  while (parts.length > 0 && visibleWidth(parts.join(' · ')) + 2 > room) parts = parts.slice(0, -1)
  const left = theme.dim(parts.join(' · '))
  const space = ' '.repeat(Math.max(1, width - 2 - visibleWidth(left) - visibleWidth(state)))
  return [truncateToWidth(` ${left}${space}${state}`, width, '')]
}

function stateOf(conversation: Conversation, theme: Theme, now: number): string {
  const { turn, isConnected, pending, items, asks } = conversation
  if (!isConnected) return theme.warning('reconnecting')
  if (!turn && asks.length > 0) return theme.warning('your turn')
  if (!turn) return pending.length > 0 ? theme.accent('sending') : theme.dim('ready')
  const time = formatTook(now - turn.startedAt)
  const last = items.at(-1)
  const running = items.filter((item) => item.kind === 'call' && !item.outcome)
  if (running.length > 0) return theme.accent(`${running.length === 1 ? 'tool' : `${running.length} tools`} · ${time}`)
  if (turn.waitsUntil !== undefined && turn.waitsUntil > now) return theme.warning(`waiting · ${time}`)
  return theme.accent(`${last?.kind === 'answer' && last.isOpen ? 'writing' : 'thinking'} · ${time}`)
}

function used(conversation: Conversation, { contextTokens, windowTokens }: StatusFacts): string {
  const tokens = conversation.contextTokens ?? contextTokens
  if (tokens === undefined || windowTokens === undefined || windowTokens <= 0) return ''
  return `${shortCount(tokens)} of ${shortCount(windowTokens)} (${Math.round((tokens / windowTokens) * 100)} %)`
}

function cost(conversation: Conversation, { costTodayUsd }: StatusFacts): string {
  if (costTodayUsd === undefined) return ''
  const sum = costTodayUsd + conversation.costSinceUsd
  return `$${sum.toFixed(sum < 1 ? 4 : 2)} today`
}

export function shortCount(tokens: number): string {
  if (tokens < 1_000) return String(tokens)
  if (tokens < 1_000_000) return `${(tokens / 1_000).toFixed(tokens < 10_000 ? 1 : 0)}k`
  return `${(tokens / 1_000_000).toFixed(1)}M`
}
