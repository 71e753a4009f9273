import type { Conversations, TurnEnd, TurnReply } from '../../agent/conversations.ts'
import { isSilentReply } from '../../agent/sessions/session-event.ts'
import { plainReply } from '../../protocol/choices.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { TurnEvent } from '../../protocol/events.ts'
import type { Usage } from '../../protocol/messages.ts'
import type { ChatCompletionReply, OpenAiExtras } from '../../protocol/openai.ts'
import { eventsOfTurn, failureCodes } from '../chat-replies.ts'
import type { HttpContext, HttpDependencies } from '../dependencies.ts'

/** A turn for an OpenAI client: text as it streams, then the end or the calls that it waits for. */
export type ReplyEvent = { type: 'text'; text: string } | { type: 'thinking'; text: string } | TurnOver

export type TurnOver =
  | { type: 'ended'; end: TurnEnd; text: string }
  | { type: 'asks'; turnId: string; calls: Extract<TurnReply, { kind: 'asks' }>['calls'] }

/** Waits for the whole turn. Throws if it failed. Aborting the wait does not stop the turn. */
export async function waitForOver(
  { conversations }: { conversations: Pick<Conversations, 'waitForReply'> },
  { messageId }: BegunTurn,
  signal: AbortSignal,
): Promise<TurnOver> {
  return toOver(await conversations.waitForReply(messageId, signal))
}

/** The same turn piece by piece, with the text between tool calls but without the calls. */
export async function* watchReply(
  dependencies: HttpDependencies,
  begun: BegunTurn,
  signal: AbortSignal,
): AsyncGenerator<ReplyEvent> {
  const { sessionId, messageId } = begun
  const receipt = { sessionId, messageId, duplicate: false }
  const spoken = createSpoken()
  for await (const { event } of eventsOfTurn(dependencies, { ...begun, receipt, signal })) {
    if (event.type === 'thinking_delta') yield { type: 'thinking', text: event.text }
    const text = spoken.take(event)
    if (text !== '') yield { type: 'text', text }
    if (event.type !== 'tool_calls' && event.type !== 'turn_end') continue
    // Calls that were made together are requested together; the events list them one by one.
    const over = toOver(await dependencies.conversations.waitForReply(messageId, signal))
    // Calls of a turn that is watched again may already have results: then it continues.
    if (over.type === 'ended' && event.type === 'tool_calls') continue
    yield over
    return
  }
}

/** Selects the text for the user from the events. A silent reply is held back from its first letter on. */
function createSpoken(): { take(event: TurnEvent): string } {
  let said = ''
  let round = ''
  let lastRound = ''
  let sent = 0

  function say(text: string, isNew: boolean): string {
    const told = isNew && said !== '' && text !== '' ? `\n\n${text}` : text
    said += told
    return told
  }

  function sendRound(): string {
    const text = say(round.slice(sent), sent === 0)
    sent = round.length
    return text
  }

  function endRound(): string {
    const text = isSilentReply(round) ? '' : sendRound()
    lastRound = round || lastRound
    round = ''
    sent = 0
    return text
  }

  return {
    take(event) {
      switch (event.type) {
        case 'text_delta':
          round += event.text
          return isSilentReply(round) || mayBecomeSilent(round) ? '' : sendRound()
        case 'cost':
        case 'retry':
          return endRound()
        case 'said':
          return endRound() + say(event.text, true)
        case 'response': {
          const before = endRound()
          const text = plainReply(event)
          const isTold = !event.deliver || text.trim() === '' || said.trimEnd().endsWith(text.trim())
          if (isTold) return before
          // A notice under the reply comes alone: the reply before it was streamed.
          const seen = lastRound.trimEnd()
          const goesOn = seen !== '' && text.startsWith(seen) && said.trimEnd().endsWith(seen)
          return before + (goesOn ? say(text.slice(seen.length), false) : say(text, true))
        }
        default:
          return ''
      }
    },
  }
}

/** Silent tokens are capital letters, so a text of only capitals may become one. */
function mayBecomeSilent(text: string): boolean {
  return /^\s*[A-Z_]{0,12}$/.test(text)
}

function toOver(reply: TurnReply): TurnOver {
  if (reply.kind === 'asks') return { type: 'asks', turnId: reply.turnId, calls: reply.calls }
  const { end } = reply
  if (end.outcome === 'failed') throw new FamiliarError(failureCodes[end.failure ?? 'internal'], end.text)
  return { type: 'ended', end, text: end.deliver ? end.text : '' }
}

/** A running or finished turn, with the cursor to watch it from. */
export interface BegunTurn {
  userId: string
  sessionId: string
  messageId: string
  cursor: string
  /** Set if the turn has already started: only the rest is watched. */
  turnId?: string
}

/**
 * The id of a call for the client: it contains the session, so that the result is found whatever else the client sends.
 */
const pattern = /^call_([0-9a-f]{32})_(.{1,200})$/s

export function toClientCallId(sessionId: string, callId: string): string {
  return `call_${sessionId.replaceAll('-', '')}_${callId}`
}

/** Undefined for an unknown form of id. */
export function readClientCallId(id: string): { sessionId: string; callId: string } | undefined {
  const [, sessionId, callId] = pattern.exec(id) ?? []
  return sessionId && callId ? { sessionId: toUuid(sessionId), callId } : undefined
}

type Choice = ChatCompletionReply['choices'][number]
type CompletionCall = NonNullable<Choice['message']['tool_calls']>[number]

/** The fields that are the same in every chunk of one answer. */
export type CompletionHead = Pick<ChatCompletionReply, 'id' | 'created' | 'model'>

export function completionReply(head: CompletionHead, begun: BegunTurn, over: TurnOver): ChatCompletionReply {
  const isEnd = over.type === 'ended'
  return {
    ...head,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: isEnd ? over.text : null,
          refusal: null,
          ...(!isEnd && { tool_calls: completionCalls(begun, over) }),
        },
        logprobs: null,
        finish_reason: finishReason(over),
      },
    ],
    usage: completionUsage(over),
    familiar: extrasOf(begun, over),
  }
}

export function finishReason(over: TurnOver): Choice['finish_reason'] {
  return over.type === 'ended' ? 'stop' : 'tool_calls'
}

export function completionCalls({ sessionId }: BegunTurn, over: Extract<TurnOver, { type: 'asks' }>): CompletionCall[] {
  return over.calls.map(({ id, name, arguments: given }) => ({
    id: toClientCallId(sessionId, id),
    type: 'function',
    function: { name, arguments: JSON.stringify(given) },
  }))
}

export function completionUsage(over: TurnOver): ChatCompletionReply['usage'] {
  const { inputTokens, outputTokens, cacheReadTokens } = usageOf(over)
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens },
  }
}

/** The usage of the whole turn, reported once at its end and not while it waits for its client. */
export function usageOf(over: TurnOver): Usage {
  if (over.type === 'ended') return over.end.usage
  return { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
}

export function extrasOf({ sessionId }: BegunTurn, over: TurnOver): OpenAiExtras {
  if (over.type === 'asks') return { session_id: sessionId, turn_id: over.turnId, cost_usd: 0 }
  return { session_id: over.end.sessionId, turn_id: over.end.turnId, cost_usd: over.end.costUsd }
}

const responseIdPattern = /^resp_([0-9a-f]{32})_([0-9a-f]{32})_\d{1,15}$/

/** Contains the session, the message and the position in the log: a turn that asks its client has several responses. */
export function toResponseId(place: { sessionId: string; messageId: string; cursor: string }): string {
  const [seq] = place.cursor.split('.')
  return `resp_${place.sessionId.replaceAll('-', '')}_${place.messageId.replaceAll('-', '')}_${seq}`
}

/** Undefined for an unknown form of id. */
export function readResponseId(id: string): { sessionId: string; messageId: string } | undefined {
  const [, sessionId, messageId] = responseIdPattern.exec(id) ?? []
  return sessionId && messageId ? { sessionId: toUuid(sessionId), messageId: toUuid(messageId) } : undefined
}

function toUuid(digits: string): string {
  return [0, 8, 12, 16, 20].map((start, index, starts) => digits.slice(start, starts[index + 1])).join('-')
}

export function turnHeaders({ sessionId, messageId }: BegunTurn): Record<string, string> {
  return { 'familiar-session-id': sessionId, 'familiar-message-id': messageId }
}

/** Whether the client asked for the model's thinking. */
export function wantsThinking(context: HttpContext): boolean {
  return context.req.header('familiar-thinking') === 'true'
}
