import type { Exchange, ExchangeLine } from '../memory/learning/exchange.ts'
import { isAutomated, isOwnWords } from '../policy/own-words.ts'
import type { Json } from '../protocol/json.ts'
import type { LoggedEvent } from '../sessions/session-event.ts'

type EventOf<Type extends LoggedEvent['type']> = Extract<LoggedEvent, { type: Type }>

export interface ReadExchanges {
  exchanges: Exchange[]
  /** Up to here the log is read to the end: no turn was under way. */
  throughSeq: number
}

/** Whoever asks to forget something names it: those words are not to be kept either. */
const forgettingTools = ['memory_forget', 'delete_memory']

/** What is kept in the user's browser alone, or is read from there, is not to be kept here as well (CLIENT-2). */
const browserMemoryTools = ['save_memory', 'read_browser_memory']

const forgettingCommand = /^\s*\/?forget\b/i

function isForgettingCall({ name, input }: { name: string; input: Json }): boolean {
  if (forgettingTools.includes(name)) return true
  const given = name === 'slash_command' && typeof input === 'object' && !Array.isArray(input) ? input?.command : null
  return typeof given === 'string' && forgettingCommand.test(given)
}

/**
 * What was said, out of a part of a session's log that begins between two turns. Automated messages and the replies to
 * them, replies of a model that works by form, what tells of something passing (TOOL-9), and what Familiar itself says
 * in place of a model do not count as said.
 */
export function exchangesOf(
  events: readonly LoggedEvent[],
  options: { sessionId: string; isOffline(model: string): boolean },
): ReadExchanges {
  const turns = new Map<string, LoggedEvent[]>()
  const open = new Set<string>()
  for (const event of events) {
    if (event.type === 'rewound') {
      for (const [turnId, own] of turns) {
        if ((own[0]?.seq ?? 0) <= event.toSeq) continue
        turns.delete(turnId)
        open.delete(turnId)
      }
    }
    if (event.turnId === null) continue
    const known = turns.get(event.turnId)
    if (known) known.push(event)
    else turns.set(event.turnId, [event])
    if (event.type === 'turn_ended') open.delete(event.turnId)
    else if (!known) open.add(event.turnId)
  }
  const firstOpen = Math.min(...[...open].map((turnId) => turns.get(turnId)?.[0]?.seq ?? Number.POSITIVE_INFINITY))
  const throughSeq = Math.min(firstOpen - 1, events.at(-1)?.seq ?? 0)
  const exchanges = [...turns].flatMap(([turnId, own]) => {
    const last = own.findLast((event) => event.type === 'turn_ended')
    return last && last.seq <= throughSeq ? [exchangeOf(turnId, own, last)] : []
  })
  return { exchanges, throughSeq }

  function exchangeOf(turnId: string, own: readonly LoggedEvent[], ended: EventOf<'turn_ended'>): Exchange {
    const messages = own.filter((event) => event.type === 'message_received')
    const isForgetting = ended.toolCalls.some((call) => !call.isError && isForgettingCall(call))
    const isBrowsers = own.some(
      (event) => event.type === 'tool_started' && event.isClients === true && browserMemoryTools.includes(event.name),
    )
    const said = messages.filter(
      (message) => !isForgetting && !isBrowsers && !isAutomated(message.source) && message.text.trim() !== '',
    )
    const lines = said.map((message): ExchangeLine => {
      const { text, at, seq } = message
      return { speaker: 'user', text, at, seq, ...(!isOwnWords(message) && { isProgram: true }) }
    })
    if (lines.length > 0 && isSaidByModel(own, ended)) {
      lines.push({ speaker: 'assistant', text: ended.text, at: ended.at, seq: ended.seq })
    }
    return {
      sessionId: options.sessionId,
      turnId,
      at: own[0]?.at ?? ended.at,
      throughSeq: ended.seq,
      lines,
      untrusted: said.some(({ label }) => label === 'untrusted'),
      ...(ended.label === 'untrusted' && { sawUntrusted: true }),
    }
  }

  function isSaidByModel(own: readonly LoggedEvent[], ended: EventOf<'turn_ended'>): boolean {
    const response = own.findLast((event) => event.type === 'model_responded')
    const isReply = ended.outcome === 'completed' || ended.outcome === 'question'
    if (own.some((event) => event.type === 'tool_finished' && event.isEphemeral)) return false
    return isReply && ended.deliver && ended.text.trim() !== '' && !!response && !options.isOffline(response.model)
  }
}
