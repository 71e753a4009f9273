import type { OpenChoices } from '../../../src/protocol/choices.ts'
import type { AnsweredApproval, StreamedEvent, TurnEvent, TurnOutcome } from '../../../src/protocol/events.ts'
import type { Card, Json, MediaPart } from '../../../src/protocol/messages.ts'
import type { ApprovalOutcome, ShownApproval } from '../../../src/protocol/permissions.ts'
import { formatDate } from '../strings/format.ts'
import { t } from '../strings/strings.ts'

export interface ToolPart {
  kind: 'tool'
  callId: string
  name: string
  input: Json
  /** A client tool: this page or another client runs it. */
  isClients?: true
  /** Progress reports, newest last. */
  progress: Json[]
  /** Undefined while it runs. */
  result?: { text: string; isError: boolean }
  card?: Card
  media?: MediaPart[]
  /** `outcome` is undefined while the question is open, or when its answer is not part of the conversation. */
  approval?: { id: string; question: string; shown?: ShownApproval; outcome?: Pick<ApprovalOutcome, 'answer'> }
}

export type TurnPart =
  | { kind: 'text'; text: string }
  | { kind: 'thinking'; text: string }
  | { kind: 'said'; text: string }
  | { kind: 'retry'; reason: string; attempt: number; waitMs: number }
  | ToolPart

export interface MessageItem {
  kind: 'message'
  id: string
  /** About its place in the log, for a jump to an earlier one. */
  seq: number
  text: string
  sender: string
  source: string
  /** Attachments. */
  media: readonly MediaPart[]
}

export interface TurnItem {
  kind: 'turn'
  id: string
  seq: number
  model: string
  parts: TurnPart[]
  memories: { id: string; text: string }[]
  reaction?: string
  costUsd: number | null
  /** A provider sent no count of its tokens: the cost is an estimate. */
  isEstimate: boolean
  tokens: number
  /** Undefined while it runs. */
  outcome?: TurnOutcome
  /** False where the reply is a silent token. */
  deliver: boolean
  pendingQuestion: string | null
  /** The options of its question; `chosen` once it is answered or replaced by another one. */
  choices?: OpenChoices & { chosen?: readonly string[] }
}

interface NoteItem {
  kind: 'note'
  id: string
  seq: number
  text: string
}

export type Item = MessageItem | TurnItem | NoteItem

/** A session for display: built from its events alone, so that every tab and every reconnection shows the same. */
export interface Conversation {
  items: readonly Item[]
  /** The position in the stream. */
  cursor: string
  /** Messages that were canceled before their turn. */
  canceled?: readonly string[]
  /** The cursor of the last jump to an earlier place or another branch, while it was shown. */
  jumped?: string
}

export const emptyConversation: Conversation = { items: [], cursor: '0' }

/** The conversation after one more event. Unchanged items stay the same object, so that they are not drawn again. */
export function addEvent(conversation: Conversation, { cursor, event }: StreamedEvent): Conversation {
  const isCancel = event.type === 'session_changed' && event.change === 'canceled'
  const canceled = isCancel ? [...(conversation.canceled ?? []), event.detail] : conversation.canceled
  const jumped = isJump(event) ? cursor : conversation.jumped
  const items = withEvent(conversation.items, event, cursor)
  return { items, cursor, ...(canceled && { canceled }), ...(jumped !== undefined && { jumped }) }
}

function isJump(event: TurnEvent): boolean {
  return event.type === 'session_changed' && (event.change === 'rewound' || event.change === 'branched')
}

const seqOf = (cursor: string) => Number.parseInt(cursor, 10)

function withEvent(items: readonly Item[], event: TurnEvent, cursor: string): readonly Item[] {
  switch (event.type) {
    case 'message': {
      const { messageId, text, sender, source, media = [], approval } = event
      if (approval) return withAnswer(items, approval, cursor)
      // An earlier version did not say how it was answered.
      const [, word, tool = ''] = (source === 'approval' && earlierAnswer.exec(text)) || []
      if (word) {
        const answer = word === 'approved' ? 'approve' : 'deny'
        return [...withOutcome(items, ({ name }) => name === tool, { answer }), note(cursor, labelOf({ answer }))]
      }
      return [...items, { kind: 'message', id: messageId, seq: seqOf(cursor), text, sender, source, media }]
    }
    case 'compaction':
      return [...items, note(cursor, t.chat.oldestMessagesSummarized(event.messages))]
    case 'context_warning':
      return [...items, note(cursor, t.chat.conversationLongOlderMessages)]
    case 'session_changed':
      return isJump(event) ? items.filter(({ seq }) => seq <= Number(event.detail)) : items
    case 'turn_start': {
      const { answers, approvals = [] } = event
      const known = answers ? closeChoices(items, answers.id, answers.chosen) : items
      const told = approvals.reduce((all, answered) => withAnswer(all, answered, `${cursor}-${answered.id}`), known)
      return changeTurn(told, { turnId: event.turnId, cursor }, (turn) => turnAfter(turn, event))
    }
    case 'response': {
      const changed = changeTurn(items, { turnId: event.turnId, cursor }, (turn) => turnAfter(turn, event))
      if (event.pendingQuestion === null) return changed
      const older = changed.flatMap((item) => (item.kind === 'turn' && item.id !== event.turnId ? [item.id] : []))
      return older.reduce<readonly Item[]>((all, id) => closeChoices(all, id, []), changed)
    }
    default:
      return changeTurn(items, { turnId: event.turnId, cursor }, (turn) => turnAfter(turn, event))
  }
}

/** A question is answered, or another one took its place. */
function closeChoices(items: readonly Item[], id: string, chosen: readonly string[]): readonly Item[] {
  const place = items.findLastIndex((item) => item.kind === 'turn' && item.id === id)
  const turn = items[place]
  if (turn?.kind !== 'turn' || !turn.choices || turn.choices.chosen) return items
  return items.with(place, { ...turn, choices: { ...turn.choices, chosen } })
}

/** The message to the model after an answer by button, as earlier versions wrote it. */
const earlierAnswer = /^The user (approved|denied): (\S+) /

/** A quiet line says how it was answered; the text of the message is for the model. */
function withAnswer(items: readonly Item[], answered: AnsweredApproval, key: string): readonly Item[] {
  const { id, answer, at } = answered
  const label = t.chat.byYou(labelOf(answered), formatDate(at, { timeStyle: 'short' }))
  return [...withOutcome(items, ({ approval }) => approval?.id === id, { answer }), note(key, label)]
}

function labelOf({ answer, scope = 'once' }: Pick<ApprovalOutcome, 'answer'> & Partial<ApprovalOutcome>): string {
  return t.chat.outcomes[answer === 'deny' ? 'denied' : scope]
}

/** Marks the newest open question that matches as answered. */
function withOutcome(
  items: readonly Item[],
  matches: (tool: ToolPart) => boolean,
  outcome: Pick<ApprovalOutcome, 'answer'>,
): readonly Item[] {
  const isAsked = (part: TurnPart) =>
    part.kind === 'tool' && part.approval !== undefined && !part.approval.outcome && matches(part)
  const place = items.findLastIndex((item) => item.kind === 'turn' && item.parts.some(isAsked))
  const turn = items[place]
  if (turn?.kind !== 'turn') return items
  const at = turn.parts.findLastIndex(isAsked)
  const tool = turn.parts[at] as ToolPart
  const approval = tool.approval && { ...tool.approval, outcome }
  return items.with(place, { ...turn, parts: turn.parts.with(at, { ...tool, ...(approval && { approval }) }) })
}

function note(cursor: string, text: string): NoteItem {
  return { kind: 'note', id: `note-${cursor}`, seq: seqOf(cursor), text }
}

function changeTurn(
  items: readonly Item[],
  { turnId, cursor }: { turnId: string; cursor: string },
  change: (turn: TurnItem) => TurnItem,
): readonly Item[] {
  const place = items.findLastIndex((item) => item.kind === 'turn' && item.id === turnId)
  const known = place < 0 ? newTurn(turnId, seqOf(cursor)) : (items[place] as TurnItem)
  const changed = change(known)
  if (changed === known) return items
  return place < 0 ? [...items, changed] : items.with(place, changed)
}

function newTurn(id: string, seq: number): TurnItem {
  return {
    kind: 'turn',
    id,
    seq,
    model: '',
    parts: [],
    memories: [],
    costUsd: 0,
    isEstimate: false,
    tokens: 0,
    deliver: true,
    pendingQuestion: null,
  }
}

type EventOfTurn = Extract<TurnEvent, { turnId: string }>

function turnAfter(turn: TurnItem, event: EventOfTurn): TurnItem {
  const { parts } = turn
  switch (event.type) {
    case 'turn_start':
      return { ...turn, model: event.model }
    case 'memory_recalled':
      return { ...turn, memories: event.memories }
    case 'text_delta':
      return { ...turn, parts: grown(parts, 'text', event.text) }
    case 'thinking_delta':
      return { ...turn, parts: grown(parts, 'thinking', event.text) }
    case 'said':
      return { ...turn, parts: [...parts, { kind: 'said', text: event.text }] }
    case 'retry': {
      const { reason, attempt, waitMs } = event
      if (event.isQuiet) return { ...turn, parts: withoutUnfinished(parts) }
      return { ...turn, parts: [...withoutUnfinished(parts), { kind: 'retry', reason, attempt, waitMs }] }
    }
    case 'tool_start': {
      const { callId, name, input } = event
      return { ...turn, parts: [...parts, { kind: 'tool', callId, name, input, progress: [] }] }
    }
    case 'tool_progress':
      return changeTool(turn, event.callId, (tool) => ({
        ...tool,
        progress: [...tool.progress.slice(-199), event.data],
      }))
    case 'tool_result':
      return changeTool(withCall(turn, event), event.callId, (tool) => ({
        ...tool,
        result: { text: event.result, isError: event.isError },
      }))
    case 'card':
      return changeTool(turn, event.callId, (tool) => ({ ...tool, card: event.card }))
    case 'media':
      return changeTool(withoutFiles(turn, event.removed), event.callId, (tool) => ({ ...tool, media: event.media }))
    case 'approval_request': {
      const { approvalId: id, question, approval: shown } = event
      const approval = { id, question, ...(shown && { shown }) }
      // That of a sub-agent belongs to no call of this turn.
      const asking = withCall(turn, { callId: event.callId, name: 'sessions_spawn' })
      return changeTool(asking, event.callId, (tool) => ({ ...tool, approval }))
    }
    case 'reaction':
      return { ...turn, reaction: event.emoji }
    case 'cost': {
      const costUsd = turn.costUsd === null || event.costUsd === null ? null : turn.costUsd + event.costUsd
      const { inputTokens, outputTokens, isEstimate = turn.isEstimate } = event.usage
      return { ...turn, costUsd, isEstimate, tokens: turn.tokens + inputTokens + outputTokens, model: event.model }
    }
    case 'response':
      return {
        ...turn,
        deliver: event.deliver,
        pendingQuestion: event.pendingQuestion,
        ...(event.pendingChoices && { choices: event.pendingChoices }),
        parts: withReply(parts, event.text),
      }
    case 'turn_end':
      return { ...turn, outcome: event.outcome, parts: event.outcome === 'stopped' ? withoutMark(parts) : parts }
    case 'tool_calls':
      return event.toolCalls.reduce((changed, { id }) => changeTool(changed, id, markedAsClients), turn)
    default:
      event satisfies never
      return turn
  }
}

function grown(parts: TurnPart[], kind: 'text' | 'thinking', text: string): TurnPart[] {
  const last = parts.at(-1)
  return last?.kind === kind
    ? parts.with(-1, { kind, text: last.text + text })
    : [...parts.filter((part) => part.kind !== 'retry'), { kind, text }]
}

/** A response that failed is made again from its beginning: what had come of it is not part of the conversation. */
function withoutUnfinished(parts: readonly TurnPart[]): TurnPart[] {
  const end = parts.findLastIndex((part) => part.kind === 'tool' || part.kind === 'said')
  return parts.slice(0, end + 1)
}

/** The reply is what counts: where the stream had less or other text (a stop, a limit), it is put right. */
function withReply(parts: readonly TurnPart[], reply: string): TurnPart[] {
  const kept = parts.filter((part) => part.kind !== 'retry')
  const text = withoutQuestions(kept, reply)
  const spoken = kept.flatMap((part) => (part.kind === 'text' ? [part.text] : []))
  const last = spoken.at(-1) ?? ''
  return text === '' || last.trim() === text.trim() || spoken.join('').trim() === text.trim()
    ? kept
    : [...(last !== '' && text.startsWith(last.trim()) ? withoutLastText(kept) : kept), { kind: 'text', text }]
}

/** The approval shows its question already. */
function withoutQuestions(parts: readonly TurnPart[], reply: string): string {
  let text = reply.trimEnd()
  for (const part of parts.toReversed()) {
    const question = part.kind === 'tool' ? part.approval?.question.trim() : undefined
    if (question && text.endsWith(question)) text = text.slice(0, -question.length).trimEnd()
  }
  return text === reply.trimEnd() ? reply : text
}

/** The reply says that it was stopped, for channels that show its text alone. The page has a mark of its own. */
function withoutMark(parts: TurnPart[]): TurnPart[] {
  const place = parts.findLastIndex((part) => part.kind === 'text')
  const last = parts[place]
  if (last?.kind !== 'text') return parts
  const text = last.text === 'Stopped.' ? '' : last.text.replace(/\n\n\[Stopped\.\]$/, '')
  return text === '' ? parts.toSpliced(place, 1) : parts.with(place, { kind: 'text', text })
}

function withoutLastText(parts: readonly TurnPart[]): TurnPart[] {
  const place = parts.findLastIndex((part) => part.kind === 'text')
  return parts.toSpliced(place, 1)
}

const markedAsClients = (tool: ToolPart): ToolPart => ({ ...tool, isClients: true })

/** A call that was held back, such as one that waits for approval, ends without a start. */
function withCall(turn: TurnItem, { callId, name }: Pick<ToolPart, 'callId' | 'name'>): TurnItem {
  if (turn.parts.some((part) => part.kind === 'tool' && part.callId === callId)) return turn
  return { ...turn, parts: [...turn.parts, { kind: 'tool', callId, name, input: null, progress: [] }] }
}

/** Files that a later call removed are no result. */
function withoutFiles(turn: TurnItem, removed: readonly string[] = []): TurnItem {
  if (removed.length === 0) return turn
  const isThere = ({ path }: MediaPart) => path === undefined || !removed.includes(path)
  return {
    ...turn,
    parts: turn.parts.map((part) =>
      part.kind === 'tool' && part.media ? { ...part, media: part.media.filter(isThere) } : part,
    ),
  }
}

function changeTool(turn: TurnItem, callId: string, change: (tool: ToolPart) => ToolPart): TurnItem {
  const place = turn.parts.findLastIndex((part) => part.kind === 'tool' && part.callId === callId)
  if (place < 0) return turn
  return { ...turn, parts: turn.parts.with(place, change(turn.parts[place] as ToolPart)) }
}

/** Whether a turn is under way. */
export function isWorking({ items }: Conversation): boolean {
  const last = items.findLast((item) => item.kind === 'turn')
  return last?.kind === 'turn' && last.outcome === undefined
}

const begins = new Set(['request_capability', 'repair_capability'])

/** The build that a call started or found, from the first line of its result. */
export function readBuildId({ name, result }: Pick<ToolPart, 'name' | 'result'>): string | undefined {
  const [line = ''] = (result?.text ?? '').split('\n')
  if (!begins.has(name) || !line.startsWith('{')) return undefined
  try {
    const { build_id } = JSON.parse(line) as { build_id?: unknown }
    return typeof build_id === 'string' ? build_id : undefined
  } catch {
    return undefined
  }
}

const automated = ['system', 'approval', 'builder', 'subagent', 'schedule', 'cron', 'webhook']

/** Whether the user wrote it, so that it can be edited and sent again. */
export function isOwnMessage({ source }: MessageItem): boolean {
  return !automated.includes(source)
}

/** The message of the user that the turn at `index` answers, perhaps after an approval; undefined for a turn of its own. */
export function askedBy(items: readonly Item[], index: number): { messageId: string; ownIds: string[] } | undefined {
  const ownIds: string[] = []
  let at = index - 1
  for (let item = items[at]; item?.kind === 'message'; item = items[at]) {
    ownIds.unshift(item.id)
    at -= 1
  }
  const place = items.slice(0, index).findLastIndex(({ kind }) => kind === 'message')
  const message = items[place]
  return message?.kind === 'message' && isOwnMessage(message) ? { messageId: message.id, ownIds } : undefined
}
