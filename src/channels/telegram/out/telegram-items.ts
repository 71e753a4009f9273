import { z } from 'zod'
import { plainCardText } from '../../../cards/card-text.ts'
import type { MediaPart } from '../../../protocol/message.ts'
import type { LoggedEvent } from '../../../sessions/session-event.ts'
import type { SessionLog } from '../../../sessions/session-log.ts'
import type { DeliveryChannel, DeliverySession } from '../../deliveries/delivery-channel.ts'
import type { Outgoing } from '../../outbox/outbox.ts'
import { approvalData } from './button-data.ts'
import { mediaKind } from './media-kind.ts'
import { reactionEmoji } from './reaction-emoji.ts'
import { type TelegramPayloadInput, telegramChannel, toOutgoing } from './telegram-payload.ts'
import { markdownPayloads, plainPayloads } from './text-payloads.ts'

type ToolFinished = Extract<LoggedEvent, { type: 'tool_finished' }>
type TurnEnded = Extract<LoggedEvent, { type: 'turn_ended' }>

const metadataSchema = z.object({ telegram: z.object({ messageId: z.int() }) })

/** What a conversation on Telegram says, as messages there. */
export function createTelegramItems({ log }: { log: Pick<SessionLog, 'readTurn'> }): DeliveryChannel {
  const turnOf = async (session: DeliverySession, { turnId }: LoggedEvent) =>
    turnId === null ? [] : await log.readTurn(session.id, turnId)

  async function payloadsOf(session: DeliverySession, event: LoggedEvent): Promise<TelegramPayloadInput[]> {
    if (event.type === 'tool_finished') {
      const { says, card, media = [] } = event
      return [
        ...(says ? markdownPayloads(says) : []),
        ...(event.reaction ? reactionPayloads(event.reaction, await turnOf(session, event)) : []),
        ...(card ? plainPayloads(plainCardText(card)) : []),
        ...media.flatMap(filePayloads),
      ]
    }
    return event.type === 'turn_ended' && event.deliver ? endPayloads(event, await turnOf(session, event)) : []
  }

  return {
    channel: telegramChannel,
    // A fork has a name of its own in place of the number of a chat: nobody reads it there.
    wants: ({ channel, contact }) => channel === telegramChannel && /^-?\d{1,20}$/.test(contact),
    async toItems(session, events) {
      const items: Outgoing[] = []
      for (const event of events) {
        const payloads = await payloadsOf(session, event)
        for (const [part, payload] of payloads.entries()) {
          const key = `event:${session.id}:${event.seq}:${part}`
          items.push(
            toOutgoing({ userId: session.userId, chatId: session.contact, key, payload, sessionId: session.id }),
          )
        }
      }
      return items
    },
  }
}

/** The words first; what waits for the user's word stands at the end, each with its buttons and nothing after it. */
function endPayloads(ended: TurnEnded, turn: readonly LoggedEvent[]): TelegramPayloadInput[] {
  const asked = ended.outcome === 'question' ? turn.filter(isAsked) : []
  let words = ended.text
  for (const { question } of asked.toReversed()) {
    if (question && words.endsWith(question)) words = words.slice(0, -question.length).trimEnd()
  }
  return [...markdownPayloads(words), ...asked.flatMap(approvalPayloads)]
}

function isAsked(event: LoggedEvent): event is ToolFinished & { approvalId: string; question: string } {
  return event.type === 'tool_finished' && event.approvalId !== undefined && event.question !== undefined
}

/** As plain words: what is asked for must be read exactly as it is. The buttons stand under the last of them. */
function approvalPayloads({ approvalId, question }: { approvalId: string; question: string }): TelegramPayloadInput[] {
  const payloads = plainPayloads(question)
  const buttons = [
    [
      { text: 'Approve', data: approvalData(approvalId, 'y') },
      { text: 'Deny', data: approvalData(approvalId, 'n') },
    ],
  ]
  return payloads.map((payload, at) => (at === payloads.length - 1 ? { ...payload, buttons } : payload))
}

/** On the newest message of theirs; as text where there is none, or where Telegram has no such reaction. */
function reactionPayloads(emoji: string, turn: readonly LoggedEvent[]): TelegramPayloadInput[] {
  const ids = turn.flatMap((event) => {
    const read = event.type === 'message_received' ? metadataSchema.safeParse(event.metadata) : undefined
    return read?.success ? [read.data.telegram.messageId] : []
  })
  const messageId = ids.at(-1)
  const reaction = reactionEmoji(emoji)
  if (messageId === undefined || reaction === undefined) return plainPayloads(emoji)
  return [{ kind: 'reaction', messageId, emoji: reaction }]
}

function filePayloads(media: MediaPart): TelegramPayloadInput[] {
  const { hash, name, mediaType } = media
  const as = mediaKind(media)
  if (as === undefined) return plainPayloads(`The file ${name} is too large for Telegram.`)
  return [{ kind: 'file', as, hash, name, mediaType }]
}
