import { z } from 'zod'
import { filesAfter } from '../../agent/sessions/projection.ts'
import type { EventOf, LoggedEvent } from '../../agent/sessions/session-event.ts'
import type { SessionLog } from '../../agent/sessions/session-log.ts'
import { cutText } from '../../base/text.ts'
import { isWorkChannel, type MediaPart } from '../../protocol/messages.ts'
import { approvalChoices } from '../../security/approval-texts.ts'
import { approvalSource, isAutomated } from '../../security/approvals.ts'
import { plainCardText } from '../../tools/cards/card-text.ts'
import type { DeliveryChannel, DeliverySession } from '../deliveries.ts'
import type { OutgoingItem } from '../outbox.ts'
import { choicePayloads } from './choice-buttons.ts'
import { type TelegramPayloadInput, telegramChannel, toOutgoing } from './sender.ts'
import { markdownPayloads, plainPayloads } from './text-payloads.ts'
import { approvalData } from './updates.ts'

const metadataSchema = z.object({ telegram: z.object({ messageId: z.int() }) })

export function createTelegramItems({
  log,
  speaksReplies = async () => false,
}: {
  log: Pick<SessionLog, 'readTurn'>
  /** Whether a voice message is answered by one, beside the text. */
  speaksReplies?: () => Promise<boolean>
}): DeliveryChannel {
  const turnOf = async (session: DeliverySession, { turnId }: LoggedEvent) =>
    turnId === null ? [] : await log.readTurn(session.id, turnId)

  async function payloadsOf(session: DeliverySession, event: LoggedEvent): Promise<TelegramPayloadInput[]> {
    if (event.type === 'tool_finished') {
      const { says, card, media = [] } = event
      return [
        ...(says ? markdownPayloads(says) : []),
        ...(event.reaction ? reactionPayloads(event.reaction, await turnOf(session, event)) : []),
        ...(card ? plainPayloads(plainCardText(card)) : []),
        // Files of the workspace follow the reply.
        ...media.filter(({ path }) => path === undefined).flatMap(filePayloads),
      ]
    }
    if (event.type === 'message_received') return plainPayloads(attachmentNotes(event.media))
    if (event.type !== 'turn_ended' || !event.deliver) return []
    const turn = await turnOf(session, event)
    const isSpoken = turn.some(isVoiceMessage) && (await speaksReplies())
    // Last, so that the numbers of the other items stay the same with and without it.
    return [...endPayloads(event, turn), ...(isSpoken ? speechPayloads(event.text) : [])]
  }

  return {
    channel: telegramChannel,
    // A fork has a name instead of a chat number, so it has no chat.
    wants: ({ channel, contact }) => channel === telegramChannel && /^-?\d{1,20}$/.test(contact),
    async toItems(session, events) {
      const items: OutgoingItem[] = []
      for (const event of events) {
        const { userId, contact: chatId, id: sessionId } = session
        const payloads = await payloadsOf(session, event)
        for (const [part, payload] of payloads.entries()) {
          items.push(toOutgoing({ userId, chatId, key: `event:${sessionId}:${event.seq}:${part}`, payload, sessionId }))
        }
      }
      return items
    },
  }
}

/**
 * Approvals that a run without a person behind it asks for elsewhere: a schedule, a webhook, a sub-agent. They wait for
 * an answer, so the user gets them in their chats as well.
 */
export function createTelegramApprovals(needs: {
  log: Pick<SessionLog, 'readTurn'>
  chatsOf(userId: string): Promise<string[]>
}): DeliveryChannel {
  async function askedIn(session: DeliverySession, event: LoggedEvent): Promise<Asked[]> {
    if (event.type !== 'turn_ended' || event.outcome !== 'question' || event.turnId === null) return []
    const turn = await needs.log.readTurn(session.id, event.turnId)
    const started = turn.find(({ type }) => type === 'turn_started')
    const isAlone = started?.type === 'turn_started' && isAutomated(started.source) && started.source !== approvalSource
    return isAlone ? turn.filter(isAsked) : []
  }

  return {
    channel: 'telegram_approvals',
    // Those of a chat are delivered with the chat, and those of a sub-agent with the conversation above it.
    wants: ({ channel }) => channel !== telegramChannel && !isWorkChannel(channel),
    async toItems(session, events) {
      const items: OutgoingItem[] = []
      for (const event of events) {
        const asked = await askedIn(session, event)
        const chats = asked.length > 0 ? await needs.chatsOf(session.userId) : []
        for (const one of asked) {
          for (const [part, payload] of approvalPayloads(one).entries()) {
            for (const chatId of chats) {
              const key = `approval:${one.approvalId}:${chatId}:${part}`
              items.push(toOutgoing({ userId: session.userId, chatId, key, payload, sessionId: null }))
            }
          }
        }
      }
      return items
    },
  }
}

/** Notes for the user about the files they sent; empty for those that were read. */
function attachmentNotes(media: readonly MediaPart[]): string {
  return media
    .flatMap(({ name, reading }) => {
      if (!reading) return []
      if (reading.state === 'partial') return [`${name}: ${reading.note}`]
      return reading.state === 'unreadable' || reading.state === 'file' ? [reading.note] : []
    })
    .join('\n')
}

/** Text first; approval questions come last, each with its buttons and nothing after it. */
function endPayloads(ended: EventOf<'turn_ended'>, turn: readonly LoggedEvent[]): TelegramPayloadInput[] {
  const asked = ended.outcome === 'question' ? turn.filter(isAsked) : []
  let words = ended.text
  for (const { question } of asked.toReversed()) {
    if (question && words.endsWith(question)) words = words.slice(0, -question.length).trimEnd()
  }
  const choices = ended.choices && { ...ended.choices, id: ended.turnId ?? '' }
  const files = filesOf(turn).flatMap(filePayloads)
  // A question with buttons stands last.
  const said = choices ? [...files, ...choicePayloads(words, choices)] : [...markdownPayloads(words), ...files]
  return [...said, ...asked.flatMap(approvalPayloads)]
}

const voiceSchema = z.object({ voice: z.literal(true) })

function isVoiceMessage(event: LoggedEvent): boolean {
  return event.type === 'message_received' && voiceSchema.safeParse(event.metadata).success
}

/** About two minutes of speech. */
const maxSpoken = 1_800

/** The words of a reply without code and addresses; empty if nothing is left to say. */
function speechPayloads(markdown: string): TelegramPayloadInput[] {
  const words = markdownPayloads(markdown)
    .map(({ text, entities = [] }) => {
      const code = entities.filter(({ type }) => type === 'pre').toReversed()
      return code.reduce((rest, { offset, length }) => rest.slice(0, offset) + rest.slice(offset + length), text)
    })
    .join('\n')
    .replaceAll(/\b(?:https?:\/\/|www\.)\S+/gi, '')
    .trim()
  if (!/[\p{L}\p{N}]/u.test(words)) return []
  const head = words.slice(0, maxSpoken).toWellFormed()
  const end = words.length > maxSpoken ? Math.max(head.lastIndexOf('. '), head.lastIndexOf('\n')) : -1
  return [{ kind: 'speech', text: end > maxSpoken / 2 ? head.slice(0, end + 1) : head }]
}

/** The files that the turn wrote into the workspace, the newest of each path. */
function filesOf(turn: readonly LoggedEvent[]): MediaPart[] {
  const files = turn.reduce<MediaPart[]>(
    (before, event) => (event.type === 'tool_finished' ? filesAfter(before, event) : before),
    [],
  )
  return files.filter(({ path }) => path !== undefined)
}

type Asked = EventOf<'approval_asked'> | (EventOf<'tool_finished'> & { approvalId: string; question: string })

function isAsked(event: LoggedEvent): event is Asked {
  if (event.type === 'approval_asked') return true
  return event.type === 'tool_finished' && event.approvalId !== undefined && event.question !== undefined
}

/** As plain text: an approval question must be shown exactly. */
function approvalPayloads({ approvalId, question, approval }: Asked): TelegramPayloadInput[] {
  // A question of an earlier version has no parts.
  const asked = approval ?? { scopes: ['once' as const], covers: '' }
  const payloads = plainPayloads(question)
  const last = payloads.at(-1)
  // One below the other: a long name would be cut in a row.
  if (last)
    last.buttons = approvalChoices([asked]).map(({ scope, label }) => {
      return [{ text: cutText(label, maxButtonLength), data: approvalData(approvalId, scope) }]
    })
  return payloads
}

const maxButtonLength = 60

/** On the user's newest message; as text if there is none, or if Telegram has no such reaction. */
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

const photoTypes = ['image/jpeg', 'image/png', 'image/webp']
const audioTypes = ['audio/mpeg', 'audio/mp4', 'audio/x-m4a', 'audio/aac']
const megabyte = 1_000_000

/** The kind that Telegram displays best; undefined if it is larger than a bot may send. */
function mediaKind({ mediaType, bytes }: MediaPart) {
  const type = mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (bytes > 49 * megabyte) return undefined
  if (photoTypes.includes(type) && bytes <= 9 * megabyte) return 'photo'
  if (type === 'audio/ogg' || type === 'audio/wav') return 'voice'
  return audioTypes.includes(type) ? 'audio' : 'document'
}

/** The reactions that Telegram allows bots in private chats; it rejects all others. */
const known = new Set(
  '👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡'.split(
    ' ',
  ),
)

/** The reaction in Telegram's spelling; undefined if it does not exist. */
function reactionEmoji(emoji: string): string | undefined {
  const plain = emoji.replaceAll('\ufe0f', '').replace(/[\u{1f3fb}-\u{1f3ff}]/u, '')
  return known.has(plain) ? plain : undefined
}
