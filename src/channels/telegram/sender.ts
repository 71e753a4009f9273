import type { ForceReply, InlineKeyboardMarkup, MessageEntity, ReactionTypeEmoji } from '@grammyjs/types'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { toVoiceNote } from '../../models/speech/recordings.ts'
import type { Speaker } from '../../models/speech/speaker.ts'
import type { MediaStore } from '../../storage/media-store.ts'
import type { OutboxItem, OutgoingItem, Sender, SendOutcome } from '../outbox.ts'
import type { TelegramAnswer, TelegramApi, TelegramFile } from './api.ts'

type Markup = InlineKeyboardMarkup | ForceReply | null
type TextLike = Extract<TelegramPayload, { kind: 'text' | 'secret' }>

/** After this many repetitions without a known outcome it is given up. */
const maxRepetitions = 3
const uploadTimeoutMs = 120_000

const sentSchema = z.object({ message_id: z.int() })
const doneSchema = z.literal(true)

export function createTelegramSender(dependencies: {
  api: TelegramApi
  media: Pick<MediaStore, 'load'>
  /** Whether this chat still belongs to that user: a message must not reach another person. */
  mayReceive(userId: string, chatId: string): Promise<boolean>
  /** A one-time link for entering a secret; undefined if the question has ended. */
  secretLink(userId: string, questionId: string): Promise<{ url: string; minutes: number } | undefined>
  settings: () => { repeatUnknown: boolean }
  /** Undefined: there are no spoken replies. */
  speaker?: Pick<Speaker, 'speak'>
  clock: Clock
}): Sender {
  const { api, media, mayReceive, secretLink, settings, speaker, clock } = dependencies

  async function sendText(
    item: OutboxItem,
    payload: TextLike,
    { signal, markup }: { signal: AbortSignal; markup: Markup },
  ): Promise<SendOutcome> {
    if (payload.notAfter !== null && payload.notAfter < clock.now()) {
      return { kind: 'failed', reason: 'this question has expired' }
    }
    const { text, entities } = marked(payload)
    const send = (looks: MessageEntity[] | null) =>
      api.call(
        'sendMessage',
        {
          chat_id: item.address,
          text,
          link_preview_options: { is_disabled: true },
          ...(looks === null ? {} : { entities: looks }),
          ...(markup === null ? {} : { reply_markup: markup }),
        },
        { result: sentSchema, signal },
      )
    const answer = await send(entities.length > 0 ? (entities as MessageEntity[]) : null)
    // Delivery matters more than formatting.
    const isAboutLooks = answer.kind === 'refused' && answer.code === 400 && /entit|too long/i.test(answer.description)
    return toOutcome(isAboutLooks && entities.length > 0 ? await send(null) : answer)
  }

  async function sendSecret(
    item: OutboxItem,
    payload: TextLike & { kind: 'secret' },
    signal: AbortSignal,
  ): Promise<SendOutcome> {
    const link = await secretLink(item.userId, payload.questionId)
    if (!link) return { kind: 'failed', reason: 'the question has ended' }
    const markup = { inline_keyboard: [[{ text: `Enter it (${link.minutes} minutes)`, url: link.url }]] }
    const outcome = await sendText(item, payload, { signal, markup })
    // Buttons accept public addresses only; a local link can still be opened on this machine.
    const isAboutButton = outcome.kind === 'failed' && /button|url/i.test(outcome.reason)
    if (!isAboutButton) return outcome
    const text = `${payload.text}\n\n${link.url} (${link.minutes} minutes)`
    return await sendText(item, { ...payload, text }, { signal, markup: null })
  }

  async function sendFile(
    item: OutboxItem,
    payload: Extract<TelegramPayload, { kind: 'file' }>,
    signal: AbortSignal,
  ): Promise<SendOutcome> {
    let data: Uint8Array
    try {
      data = await media.load(payload.hash)
    } catch {
      return { kind: 'failed', reason: `the file ${payload.name} no longer exists` }
    }
    // Telegram plays voice messages only as Ogg with Opus. Anything else arrives as a file.
    const note = payload.mediaType === 'audio/wav' ? await toVoiceNote(data) : null
    const file: TelegramFile = note
      ? { name: payload.name.replace(/\.wav$/i, '.ogg'), mediaType: 'audio/ogg', data: note }
      : { name: payload.name, mediaType: payload.mediaType, data }
    const caption = payload.repetition > 0 ? { caption: perhapsRepeated } : {}
    const send = (as: typeof payload.as) => {
      const options = { result: sentSchema, signal, timeoutMs: uploadTimeoutMs, files: { [as]: file } }
      return api.call(fileMethods[as], { chat_id: item.address, ...caption }, options)
    }
    const answer = await send(payload.as)
    // For an unsupported image shape or an invalid recording: as a file it accepts anything.
    const isAboutKind = answer.kind === 'refused' && answer.code === 400 && !isGone(answer.description)
    return toOutcome(isAboutKind && payload.as !== 'document' ? await send('document') : answer)
  }

  /** Speaks a reply. The same text was sent before, so that a failure loses nothing. */
  async function sendSpeech(
    item: OutboxItem,
    { text }: Extract<TelegramPayload, { kind: 'speech' }>,
    signal: AbortSignal,
  ): Promise<SendOutcome> {
    if (!speaker) return { kind: 'failed', reason: 'no voice is set up' }
    const spoken = await speaker.speak({ text, voice: null, signal })
    if (!spoken.ok) return { kind: 'failed', reason: spoken.reason }
    const { data, mediaType, extension } = spoken.recording
    const note = await toVoiceNote(data)
    const file = note
      ? { name: 'reply.ogg', mediaType: 'audio/ogg', data: note }
      : { name: `reply.${extension}`, mediaType, data }
    // Telegram also accepts MP3 as a voice message.
    const options = { result: sentSchema, signal, timeoutMs: uploadTimeoutMs, files: { voice: file } }
    return toOutcome(await api.call('sendVoice', { chat_id: item.address }, options))
  }

  return {
    channel: telegramChannel,
    async send(item, signal) {
      const read = telegramPayloadSchema.safeParse(item.payload)
      if (!read.success) return { kind: 'failed', reason: 'the queued item cannot be read' }
      if (!(await mayReceive(item.userId, item.address))) {
        return { kind: 'failed', reason: 'this chat is no longer paired' }
      }
      const payload = read.data
      switch (payload.kind) {
        case 'text':
          return await sendText(item, payload, { signal, markup: markupOf(payload) })
        case 'secret':
          return await sendSecret(item, payload, signal)
        case 'file':
          return await sendFile(item, payload, signal)
        case 'speech':
          return await sendSpeech(item, payload, signal)
        case 'reaction': {
          const reaction = [{ type: 'emoji', emoji: payload.emoji } as ReactionTypeEmoji]
          const place = { chat_id: item.address, message_id: payload.messageId }
          return toOutcome(await api.call('setMessageReaction', { ...place, reaction }, { result: doneSchema, signal }))
        }
      }
    },
    onUnknown(item) {
      const read = telegramPayloadSchema.safeParse(item.payload)
      if (!read.success) return { kind: 'leave' }
      // Repeating a reaction has no effect.
      if (read.data.kind === 'reaction') return { kind: 'retry' }
      const { repetition } = read.data
      if (!settings().repeatUnknown || repetition >= maxRepetitions) return { kind: 'leave' }
      return { kind: 'repeat', payload: { ...read.data, repetition: repetition + 1 } }
    },
  }
}

const perhapsRepeated = '(perhaps a repetition)'

function marked({ text, entities, repetition }: TextLike): FormattedText {
  const formatted = { text, entities }
  return repetition > 0 ? joinFormatted([plain(`${perhapsRepeated}\n`), formatted]) : formatted
}

function markupOf({ buttons, wantsReply }: Extract<TelegramPayload, { kind: 'text' }>): Markup {
  if (buttons.length > 0) {
    const rows = buttons.map((row) => row.map(({ text, data }) => ({ text, callback_data: data })))
    return { inline_keyboard: rows }
  }
  return wantsReply ? { force_reply: true } : null
}

function isGone(description: string): boolean {
  return /chat not found|deactivated|blocked/i.test(description)
}

function toOutcome(answer: TelegramAnswer<{ message_id: number } | true>): SendOutcome {
  switch (answer.kind) {
    case 'ok':
      return { kind: 'sent', externalId: answer.result === true ? null : String(answer.result.message_id) }
    case 'unreached':
      return { kind: 'retry', reason: answer.reason, afterMs: null }
    case 'unknown':
      return { kind: 'unknown', reason: answer.reason }
    case 'refused': {
      const { code, description, retryAfterSeconds, movedTo } = answer
      const reason = `${code} ${description}`.trim()
      if (movedTo !== null) return { kind: 'moved', address: String(movedTo) }
      // The limit applies to the bot: messages to other chats extend it.
      if (code === 429) {
        const afterMs = retryAfterSeconds === null ? null : retryAfterSeconds * 1_000
        return { kind: 'retry', reason, afterMs, isForAll: true }
      }
      if (code >= 500 || code === 409) return { kind: 'retry', reason, afterMs: null }
      return { kind: 'failed', reason }
    }
  }
}

/**
 * Text with separate formatting. No character of the text has a meaning to Telegram, so none can be hostile. Entities
 * lie inside the text; of two that overlap one contains the other.
 */
export interface FormattedText {
  text: string
  entities: TextEntity[]
}

export function plain(text: string): FormattedText {
  return { text, entities: [] }
}

export function joinFormatted(parts: readonly FormattedText[]): FormattedText {
  let text = ''
  const entities: TextEntity[] = []
  for (const part of parts) {
    for (const entity of part.entities) entities.push({ ...entity, offset: entity.offset + text.length })
    text += part.text
  }
  return { text, entities }
}

export function wrapFormatted(inner: FormattedText, look: Omit<TextEntity, 'offset' | 'length'>): FormattedText {
  if (inner.text.trim() === '') return inner
  return { text: inner.text, entities: [{ ...look, offset: 0, length: inner.text.length }, ...inner.entities] }
}

export const telegramChannel = 'telegram'

const fileMethods = { photo: 'sendPhoto', voice: 'sendVoice', audio: 'sendAudio', document: 'sendDocument' } as const

export type TextEntity = z.infer<typeof entitySchema>

const entitySchema = z.object({
  type: z.enum(['bold', 'italic', 'strikethrough', 'code', 'pre', 'text_link', 'blockquote']),
  /** In UTF-16 units, like our strings. */
  offset: z.int().nonnegative(),
  length: z.int().positive(),
  language: z.string().exactOptional(),
  url: z.string().exactOptional(),
})

const buttonSchema = z.object({ text: z.string(), data: z.string() })

const repetition = z.int().nonnegative().default(0)

const textFields = {
  text: z.string().min(1),
  entities: z.array(entitySchema).default([]),
  /** After this time it is obsolete: the question has ended. */
  notAfter: z.int().nullable().default(null),
  repetition,
}

/** The outbox items for Telegram. The reading version may be newer than the writing one. */
export const telegramPayloadSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('text'),
    ...textFields,
    buttons: z.array(z.array(buttonSchema)).default([]),
    wantsReply: z.boolean().default(false),
  }),
  z.object({
    kind: z.literal('file'),
    as: z.enum(['photo', 'voice', 'audio', 'document']),
    hash: z.string(),
    name: z.string(),
    mediaType: z.string(),
    repetition,
  }),
  /** A reply that is spoken when it is sent. */
  z.object({ kind: z.literal('speech'), text: z.string().min(1), repetition }),
  /** On one of the user's messages. */
  z.object({ kind: z.literal('reaction'), messageId: z.int(), emoji: z.string() }),
  /** Requests a secret: the link is made when it is sent, and is not stored. */
  z.object({ kind: z.literal('secret'), ...textFields, questionId: z.string() }),
])

type TelegramPayload = z.infer<typeof telegramPayloadSchema>
/** Input form: fields with defaults may be omitted. */
export type TelegramPayloadInput = z.input<typeof telegramPayloadSchema>

export function toOutgoing({
  chatId,
  payload,
  ...item
}: Pick<OutgoingItem, 'userId' | 'key' | 'sessionId'> & {
  chatId: string
  payload: TelegramPayloadInput
}): OutgoingItem {
  return { ...item, channel: telegramChannel, address: chatId, payload: telegramPayloadSchema.parse(payload) }
}
