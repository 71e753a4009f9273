import { z } from 'zod'
import type { Clock } from '../../../base/clock.ts'
import type { Json } from '../../../protocol/json.ts'
import type { MediaStore } from '../../../sessions/media-store.ts'
import type { OutboxItem, Sender, SendOutcome } from '../../outbox/outbox.ts'
import type { TelegramAnswer, TelegramApi, TelegramFile } from '../api/telegram-api.ts'
import { type FormattedText, joinFormatted, plain } from './formatted-text.ts'
import { type TelegramPayload, telegramChannel, telegramPayloadSchema } from './telegram-payload.ts'

type TextLike = Extract<TelegramPayload, { kind: 'text' | 'secret' }>

/** Said so often without a word of whether it arrived, it is left at that. */
const mostRepetitions = 3
const uploadTimeoutMs = 120_000

const sentSchema = z.object({ message_id: z.int() })
const doneSchema = z.literal(true)

/** Sends what lies in the outbox for Telegram. */
export function createTelegramSender(dependencies: {
  api: TelegramApi
  media: Pick<MediaStore, 'load'>
  /** Whether this chat is still that user's: what was meant for them must not reach who is there now. */
  mayReceive(userId: string, chatId: string): Promise<boolean>
  /** An address of one use at which a secret is entered; undefined where the question is over. */
  secretLink(userId: string, questionId: string): Promise<{ url: string; minutes: number } | undefined>
  settings: () => { repeatUnknown: boolean }
  clock: Clock
}): Sender {
  const { api, media, mayReceive, secretLink, settings, clock } = dependencies

  async function sendText(
    item: OutboxItem,
    payload: TextLike,
    { signal, markup }: { signal: AbortSignal; markup: Json },
  ): Promise<SendOutcome> {
    if (payload.notAfter !== null && payload.notAfter < clock.now()) {
      return { kind: 'failed', reason: 'it is too late for this question' }
    }
    const { text, entities } = marked(payload)
    const send = (looks: Json) =>
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
    const answer = await send(entities.length > 0 ? entities.map((entity) => ({ ...entity })) : null)
    // How it looks is worth less than that it arrives.
    const isAboutLooks = answer.kind === 'refused' && answer.code === 400 && /entit|too long/i.test(answer.description)
    return toOutcome(isAboutLooks && entities.length > 0 ? await send(null) : answer)
  }

  async function sendSecret(
    item: OutboxItem,
    payload: TextLike & { kind: 'secret' },
    signal: AbortSignal,
  ): Promise<SendOutcome> {
    const link = await secretLink(item.userId, payload.questionId)
    if (!link) return { kind: 'failed', reason: 'the question is over' }
    const markup = { inline_keyboard: [[{ text: `Enter it (${link.minutes} minutes)`, url: link.url }]] }
    const outcome = await sendText(item, payload, { signal, markup })
    // Buttons lead to public addresses only; one of this machine can still be opened on it.
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
      return { kind: 'failed', reason: `the file ${payload.name} is not there any more` }
    }
    const file: TelegramFile = { name: payload.name, mediaType: payload.mediaType, data }
    const caption = payload.repetition > 0 ? { caption: perhapsRepeated } : {}
    const send = (as: string) => {
      const method = `send${as[0]?.toUpperCase()}${as.slice(1)}`
      const options = { result: sentSchema, signal, timeoutMs: uploadTimeoutMs, files: { [as]: file } }
      return api.call(method, { chat_id: item.address, ...caption }, options)
    }
    const answer = await send(payload.as)
    // A picture of a shape that it does not show, or a sound that is none: as a file it takes anything.
    const isAboutKind = answer.kind === 'refused' && answer.code === 400 && !isGone(answer.description)
    return toOutcome(isAboutKind && payload.as !== 'document' ? await send('document') : answer)
  }

  async function react(
    item: OutboxItem,
    { messageId, emoji }: { messageId: number; emoji: string },
    signal: AbortSignal,
  ) {
    const reaction = { chat_id: item.address, message_id: messageId, reaction: [{ type: 'emoji', emoji }] }
    return toOutcome(await api.call('setMessageReaction', reaction, { result: doneSchema, signal }))
  }

  return {
    channel: telegramChannel,
    async send(item, signal) {
      const read = telegramPayloadSchema.safeParse(item.payload)
      if (!read.success) return { kind: 'failed', reason: 'what was to be sent cannot be read' }
      if (!(await mayReceive(item.userId, item.address))) {
        return { kind: 'failed', reason: 'this chat is not paired any more' }
      }
      const payload = read.data
      switch (payload.kind) {
        case 'text':
          return await sendText(item, payload, { signal, markup: markupOf(payload) })
        case 'secret':
          return await sendSecret(item, payload, signal)
        case 'file':
          return await sendFile(item, payload, signal)
        case 'reaction':
          return await react(item, payload, signal)
      }
    },
    onUnknown(item) {
      const read = telegramPayloadSchema.safeParse(item.payload)
      if (!read.success) return { kind: 'leave' }
      // The same reaction twice is one.
      if (read.data.kind === 'reaction') return { kind: 'retry' }
      const { repetition } = read.data
      if (!settings().repeatUnknown || repetition >= mostRepetitions) return { kind: 'leave' }
      return { kind: 'repeat', payload: { ...read.data, repetition: repetition + 1 } }
    },
  }
}

const perhapsRepeated = '(perhaps a repetition)'

function marked({ text, entities, repetition }: TextLike): FormattedText {
  const formatted = { text, entities }
  return repetition > 0 ? joinFormatted([plain(`${perhapsRepeated}\n`), formatted]) : formatted
}

function markupOf({ buttons, wantsReply }: Extract<TelegramPayload, { kind: 'text' }>): Json {
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
      // The limit is the bot's: whoever else is written to meanwhile makes it longer.
      if (code === 429) {
        const afterMs = retryAfterSeconds === null ? null : retryAfterSeconds * 1_000
        return { kind: 'retry', reason, afterMs, isForAll: true }
      }
      if (code >= 500 || code === 409) return { kind: 'retry', reason, afterMs: null }
      return { kind: 'failed', reason }
    }
  }
}
