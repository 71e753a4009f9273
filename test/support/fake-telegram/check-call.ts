import { z } from 'zod'
import type { CallBody } from './read-call.ts'

const entitySchema = z.looseObject({ type: z.string(), offset: z.int().nonnegative(), length: z.int().positive() })
export const keyboardSchema = z.looseObject({
  inline_keyboard: z.array(
    z.array(
      z.looseObject({ text: z.string().min(1), callback_data: z.string().optional(), url: z.string().optional() }),
    ),
  ),
})
const commandsSchema = z
  .array(z.object({ command: z.string().regex(/^[a-z0-9_]{1,32}$/), description: z.string().min(1).max(256) }))
  .max(100)
const reactionSchema = z.array(z.object({ type: z.literal('emoji'), emoji: z.string() })).max(1)

const entityTypes = new Set(
  'bold italic underline strikethrough spoiler blockquote expandable_blockquote code pre text_link mention hashtag url'.split(
    ' ',
  ),
)
/** A part of those that Telegram takes; everything else is refused there as here. */
const reactions = new Set([
  ...'👍👎🔥🥰👏😁🤔🤯😱🤬😢🎉🤩🤮💩🙏👌🤡🥱🥴😍🐳🌚🌭💯🤣🍌🏆💔🤨😐🍓🍾💋🖕😈😴😭🤓👻👀🎃🙈😇😨🤝🤗🫡🎅🎄💅🤪🗿🆒💘🙉🦄😘💊🙊😎👾😡',
  '❤',
  '❤️',
  '⚡',
  '🕊',
  '✍',
])

/** The reason for which Telegram would reject a call, in its words; undefined if it accepts it. */
export function checkCall(method: string, { parameters, files }: CallBody): string | undefined {
  switch (method) {
    case 'sendMessage':
      return checkText(parameters.text, parameters.entities, 4096, 1) ?? checkKeyboard(parameters.reply_markup)
    case 'sendPhoto':
    case 'sendDocument':
    case 'sendVoice':
    case 'sendAudio': {
      const field = method.slice(4).toLowerCase()
      if (!files[field] && typeof parameters[field] !== 'string') return `there is no ${field} in the request`
      if (files[field]?.data.length === 0) return 'file must be non-empty'
      return checkText(parameters.caption ?? '', parameters.caption_entities, 1024, 0)
    }
    case 'setMessageReaction': {
      const reaction = reactionSchema.safeParse(parameters.reaction ?? [])
      return reaction.success && reaction.data.every(({ emoji }) => reactions.has(emoji))
        ? undefined
        : 'REACTION_INVALID'
    }
    case 'setMyCommands':
      return commandsSchema.safeParse(parameters.commands).success ? undefined : 'BOT_COMMAND_INVALID'
    case 'answerCallbackQuery':
      return String(parameters.text ?? '').length > 200 ? 'MESSAGE_TOO_LONG' : undefined
    default:
      return undefined
  }
}

function checkText(text: unknown, entities: unknown, most: number, least: number): string | undefined {
  if (typeof text !== 'string' || text.trim().length < least) return 'message text is empty'
  if (text.length > most) return least === 0 ? 'message caption is too long' : 'message is too long'
  if (!text.isWellFormed()) return 'strings must be encoded in UTF-8'
  const read = z.array(entitySchema).safeParse(entities ?? [])
  if (!read.success) return "can't parse entities: not a list of MessageEntity"
  const open: { end: number }[] = []
  const splits = (at: number) => /[\ud800-\udbff]/.test(text[at - 1] ?? '') && /[\udc00-\udfff]/.test(text[at] ?? '')
  for (const { type, offset, length } of read.data.toSorted((a, b) => a.offset - b.offset || b.length - a.length)) {
    const end = offset + length
    if (!entityTypes.has(type)) return `can't parse entities: unknown type ${type}`
    if (end > text.length || splits(offset) || splits(end))
      return `can't parse entities: ${offset}+${length} is no part`
    while (open.length > 0 && (open.at(-1)?.end ?? 0) <= offset) open.pop()
    if (open.some((outer) => outer.end < end)) return "can't parse entities: they cross"
    open.push({ end })
  }
  return undefined
}

function checkKeyboard(markup: unknown): string | undefined {
  if (markup === undefined || markup === null) return undefined
  const read = keyboardSchema.safeParse(markup)
  if (!read.success) return "can't parse reply keyboard markup"
  const buttons = read.data.inline_keyboard.flat()
  const fits = ({ callback_data: data, url }: { callback_data?: string | undefined; url?: string | undefined }) =>
    data === undefined ? url !== undefined : Buffer.byteLength(data) >= 1 && Buffer.byteLength(data) <= 64
  return buttons.every(fits) ? undefined : 'BUTTON_DATA_INVALID'
}
