import { type Component, CURSOR_MARKER, truncateToWidth, visibleWidth, wrapTextWithAnsi } from '@earendil-works/pi-tui'
import { toDisplayText } from '../../base/text.ts'
import type { Choices, OpenChoices } from '../../protocol/choices.ts'
import type { BuildEvent } from '../../protocol/custom-tools.ts'
import type { TurnEvent } from '../../protocol/events.ts'
import type { Json } from '../../protocol/messages.ts'
import type { ShownApproval } from '../../protocol/permissions.ts'
import { frameMs, frames } from './status-line.ts'
import type { TerminalTheme } from './theme.ts'

export type Tone = 'plain' | 'quiet' | 'warning' | 'bad'

/** One item of a conversation, in order of arrival. Immutable. */
export type TerminalItem =
  /** `from` is the origin, if it is not this terminal. */
  | { kind: 'user'; text: string; from: string | undefined; messageId: string | undefined }
  /** Open while its response is still coming: what is not yet in the log may come again. */
  | { kind: 'answer'; text: string; isOpen: boolean }
  | { kind: 'thinking'; text: string; isOpen: boolean; startedAt: number; tookMs: number | undefined }
  | CallItem
  | { kind: 'card'; title: string; text: string }
  | { kind: 'note'; tone: Tone; text: string }
  /** Lines that are drawn already, and fitted to the width when shown. */
  | { kind: 'picture'; draw: (width: number) => string[] }
  | BuildItem

export interface CallItem {
  kind: 'call'
  callId: string
  name: string
  input: Json
  startedAt: number
  progress: string | undefined
  /** Undefined while it runs. */
  outcome: { result: string; isError: boolean; tookMs: number } | undefined
  waits: boolean
}

export interface BuildItem {
  kind: 'build'
  buildId: string
  name: string
  state: 'running' | 'complete' | 'failed'
  lines: readonly { tone: Tone; text: string }[]
}

/** Open questions; the first one is shown at the input. */
export type Ask =
  | ({ kind: 'approval'; id: string } & Pick<
      ShownApproval,
      'tool' | 'sentence' | 'details' | 'reason' | 'scopes' | 'covers' | 'language'
    >)
  | { kind: 'confirm'; id: string; line: string; text: string }
  | { kind: 'question'; id: string; name: string; text: string; choices?: Choices | undefined }
  /** A question of the conversation, whose text stands above it. */
  | { kind: 'choice'; id: string; choices: OpenChoices }
  | { kind: 'secret'; id: string; name: string; secret: string; text: string }

/** Sent, and not yet part of a turn. */
export interface Pending {
  key: string
  shown: string
  messageId: string | undefined
}

export interface TerminalConversation {
  items: readonly TerminalItem[]
  pending: readonly Pending[]
  asks: readonly Ask[]
  /** Messages of this terminal as they were typed, by their id: a paste of many lines is shown as one word. */
  shownAs: ReadonlyMap<string, string>
  turn: { id: string; startedAt: number; waitsUntil: number | undefined } | undefined
  model: string | undefined
  /** Tokens of the newest request. */
  contextTokens: number | undefined
  /** Cost of this conversation since the cost of today was last requested. */
  costSinceUsd: number
  /** A call since then was counted by an estimate. */
  isEstimate?: true
  isConnected: boolean
  /** Of the newest question for approval; absent: English. */
  language?: string | undefined
}

/** Everything that can happen to a conversation on the screen. */
export type Change =
  | { type: 'event'; event: TurnEvent; at: number }
  | { type: 'said'; key: string; shown: string }
  | { type: 'accepted'; key: string; messageId: string }
  | { type: 'refused'; key: string; reason: string }
  | { type: 'past'; role: 'user' | 'assistant'; text: string }
  | { type: 'note'; tone: Tone; text: string }
  | { type: 'picture'; draw: (width: number) => string[] }
  | { type: 'build'; name: string; event: BuildEvent }
  | { type: 'asked'; ask: Ask }
  | { type: 'settled'; id: string }
  | { type: 'cost_known' }
  | { type: 'lost' }
  /** Unfinished items are sent again from their start. */
  | { type: 'back'; text: string }

export const emptyTerminalConversation: TerminalConversation = {
  items: [],
  pending: [],
  asks: [],
  shownAs: new Map(),
  turn: undefined,
  model: undefined,
  contextTokens: undefined,
  costSinceUsd: 0,
  isConnected: true,
}

export function withItems(conversation: TerminalConversation, ...items: TerminalItem[]): TerminalConversation {
  return { ...conversation, items: [...conversation.items, ...items] }
}

/**
 * The same value with every text in it made harmless, keys included. All that reaches the state of a conversation
 * passes here, so that no part of the drawing has to think of it.
 */
export function displayable<T>(value: T): T {
  return clean(value) as T
}

function clean(value: unknown): unknown {
  if (typeof value === 'string') return toDisplayText(value)
  if (Array.isArray(value)) return value.map(clean)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [toDisplayText(key), clean(inner)]))
}

/**
 * Everything that cannot be seen, as its code: what the user is asked to allow must not be shorter on the screen than
 * it is in truth.
 */
export function withCodes(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
}

/** The folded parts that the user opened. */
export interface ChatView {
  showsThinking: boolean
  openCalls: 'none' | 'newest' | 'all'
}

export interface ItemDrawing {
  width: number
  theme: TerminalTheme
  showsThinking: boolean
  /** This item's own details are open. */
  isExpanded: boolean
  now: number
}

/** Everything but the user's text is indented, if there is room. */
export function margin(width: number): string {
  return width >= 50 ? '  ' : ''
}

export function toned(theme: TerminalTheme, tone: Tone): (text: string) => string {
  if (tone === 'plain') return (text) => text
  if (tone === 'quiet') return theme.dim
  return tone === 'warning' ? theme.warning : theme.bad
}

/** The text at most `width` wide, behind a first mark and a mark for each further line. */
export function indent(lines: readonly string[], first: string, rest: string): string[] {
  return lines.map((line, place) => (place === 0 ? first : rest) + line)
}

const shownLines = 200

/** A tool call: one line with its main argument, or everything if opened. */
export function drawCall(call: CallItem, drawing: ItemDrawing): string[] {
  const { theme, width, isExpanded, now } = drawing
  const { outcome } = call
  const left = margin(width)
  const elapsed = outcome?.tookMs ?? Math.max(0, now - call.startedAt)
  const mark = markOf(call, theme, elapsed)
  const time = call.waits ? 'waiting for approval' : formatTook(elapsed)
  const name = call.name
  const room = width - 2 * left.length - 2 - visibleWidth(name) - visibleWidth(time) - 4
  const told =
    room < 6
      ? ''
      : truncateToWidth(oneLine((outcome ? undefined : call.progress) ?? tellingInput(call.input)), room, '…')
  const title = `${left}${mark} ${name}${told === '' ? '' : ` ${theme.dim(told)}`}${theme.dim(` · ${time}`)}`
  if (isExpanded) return [title, ...details(call, drawing)]
  if (!outcome?.isError || call.waits) return [title]
  // An error gets a line, opened or not.
  const reason = truncateToWidth(oneLine(outcome.result), Math.max(1, width - 2 * left.length - 4), '…')
  return [title, `${left}  ${theme.bad(reason)}`]
}

function markOf({ outcome, waits }: CallItem, theme: TerminalTheme, elapsed: number): string {
  if (waits) return theme.warning('?')
  if (outcome) return outcome.isError ? theme.bad('✗') : theme.good('✓')
  return theme.accent(frames[Math.floor(elapsed / frameMs) % frames.length] ?? '·')
}

function details({ input, outcome }: CallItem, { theme, width }: ItemDrawing): string[] {
  const left = margin(width)
  const room = Math.max(1, width - 2 * left.length - 4)
  const given = input === null ? '' : JSON.stringify(input, null, 1)
  const result = outcome?.result.trimEnd() ?? ''
  const lines = [
    ...(given === '' ? [] : wrapTextWithAnsi(given.replace(/\n\s*/g, ' '), room).map(theme.dim)),
    ...(result === '' ? [] : wrapTextWithAnsi(result.replaceAll('\t', '  '), room)),
  ]
  const hidden = lines.length - shownLines
  const shown = hidden > 0 ? [...lines.slice(0, shownLines), theme.dim(`… ${hidden} more lines`)] : lines
  return shown.map((line) => `${left}  ${theme.dim('│')} ${line}`)
}

/** The most useful argument, nearly always the first text. */
function tellingInput(input: Json): string {
  if (typeof input !== 'object' || input === null) return ''
  return Object.values(input).find((value) => typeof value === 'string') ?? ''
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function formatTook(milliseconds: number): string {
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(1)} s`
  return `${Math.floor(milliseconds / 60_000)} min ${Math.floor((milliseconds % 60_000) / 1_000)} s`
}

/** Facts that are not in the events of the conversation. */
export interface StatusFacts {
  session: string
  model?: string | undefined
  /** Tokens of the newest request, and the limit for a summary. */
  contextTokens?: number | undefined
  windowTokens?: number | undefined
  costTodayUsd?: number | undefined
}

/** The bottom line: model, context use, cost of today and activity. */
export function drawStatus(
  conversation: TerminalConversation,
  facts: StatusFacts,
  drawing: { width: number; theme: TerminalTheme; now: number; hint?: string | undefined },
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

function stateOf(conversation: TerminalConversation, theme: TerminalTheme, now: number): string {
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

function used(conversation: TerminalConversation, { contextTokens, windowTokens }: StatusFacts): string {
  const tokens = conversation.contextTokens ?? contextTokens
  if (tokens === undefined || windowTokens === undefined || windowTokens <= 0) return ''
  return `${shortCount(tokens)} of ${shortCount(windowTokens)} (${Math.round((tokens / windowTokens) * 100)} %)`
}

function cost(conversation: TerminalConversation, { costTodayUsd }: StatusFacts): string {
  if (costTodayUsd === undefined) return ''
  const sum = costTodayUsd + conversation.costSinceUsd
  const amount = `$${sum.toFixed(sum < 1 ? 4 : 2)}`
  return conversation.isEstimate ? `about ${amount} today` : `${amount} today`
}

export function shortCount(tokens: number): string {
  if (tokens < 1_000) return String(tokens)
  if (tokens < 1_000_000) return `${(tokens / 1_000).toFixed(tokens < 10_000 ? 1 : 0)}k`
  return `${(tokens / 1_000_000).toFixed(1)}M`
}

/** Colors and the like, the only sequences that a drawing may hold, and the mark of the cursor. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences that are let through begin with one.
const allowed = /(\u001b\[[0-9;]*m|\u001b_pi:c\u0007)/

/**
 * The last door before the terminal (SEC-10): what is no style of ours is text and made harmless, and no line is wider
 * than the screen. A drawing that forgot itself is cut; the library would end the program for it.
 */
export function safeLines(lines: readonly string[], width: number): string[] {
  return lines.map((line) => {
    const safe = line
      .split(allowed)
      .map((part, place) => (place % 2 === 1 ? part : toDisplayText(part).replaceAll('\t', '  ').replaceAll('\n', ' ')))
      .join('')
    return visibleWidth(safe.replace(CURSOR_MARKER, '')) <= width ? safe : truncateToWidth(safe, width, '')
  })
}

/** A component whose lines are drawn again for each width, and after `invalidate`. */
export function safeComponent(draw: (width: number) => readonly string[]): Component {
  let drawn: { width: number; lines: string[] } | undefined
  return {
    render(width) {
      if (drawn?.width !== width) drawn = { width, lines: safeLines(draw(width), width) }
      return drawn.lines
    },
    invalidate() {
      drawn = undefined
    },
  }
}

/** Callbacks for the session while the terminal is open. */
export type News =
  | { type: 'event'; event: TurnEvent }
  | { type: 'lost' }
  /** Events restart at the last complete step: unfinished parts come again. */
  | { type: 'back'; where: string }
  | { type: 'moved'; session: string }
