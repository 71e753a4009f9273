import type { Conversations, TurnEnd, TurnReply } from '../../../agent/conversations.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { TurnEvent } from '../../../protocol/event.ts'
import { isSilentReply } from '../../../sessions/silent-reply.ts'
import type { HttpDependencies } from '../http-dependencies.ts'
import { eventsOfTurn } from '../turn-events.ts'
import type { BegunTurn } from './begun-turn.ts'

/** A turn as an OpenAI client sees it: text as it comes, and then its end or the calls that it waits for. */
export type ReplyEvent = { type: 'text'; text: string } | { type: 'thinking'; text: string } | TurnOver

export type TurnOver =
  | { type: 'ended'; end: TurnEnd; text: string }
  | { type: 'asks'; turnId: string; calls: Extract<TurnReply, { kind: 'asks' }>['calls'] }

const failureCodes = { provider: 'provider_error', timeout: 'provider_timeout', internal: 'internal' } as const

/** Waits for the whole. A turn that failed is thrown. Whoever stops waiting does not stop the turn. */
export async function waitForOver(
  { conversations }: { conversations: Pick<Conversations, 'waitForReply'> },
  { messageId }: BegunTurn,
  signal: AbortSignal,
): Promise<TurnOver> {
  return toOver(await conversations.waitForReply(messageId, signal))
}

/** The same turn piece by piece. What is said between the calls of tools is told too; the tools are not. */
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
    // All that were made together are asked for together; the events tell of them one by one.
    const over = toOver(await dependencies.conversations.waitForReply(messageId, signal))
    // Calls of a turn that is watched once more may have their results already: then it goes on.
    if (over.type === 'ended' && event.type === 'tool_calls') continue
    yield over
    return
  }
}

/** What of the events is text for the user. A reply that is to stay silent is held back from its first letter on. */
function createSpoken(): { take(event: TurnEvent): string } {
  let said = ''
  let round = ''
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
          const isTold = !event.deliver || event.text.trim() === '' || said.trimEnd().endsWith(event.text.trim())
          return before + (isTold ? '' : say(event.text, true))
        }
        default:
          return ''
      }
    },
  }
}

/** The tokens of silence are capitals: as long as nothing else came, it may be one of them. */
function mayBecomeSilent(text: string): boolean {
  return /^\s*[A-Z_]{0,12}$/.test(text)
}

function toOver(reply: TurnReply): TurnOver {
  if (reply.kind === 'asks') return { type: 'asks', turnId: reply.turnId, calls: reply.calls }
  const { end } = reply
  if (end.outcome === 'failed') throw new FamiliarError(failureCodes[end.failure ?? 'internal'], end.text)
  return { type: 'ended', end, text: end.deliver ? end.text : '' }
}
