import { foreignLine } from '../../../tools/builtin/foreign-text.ts'
import type { TelegramMessage } from './telegram-update.ts'

const longestField = 200
const longestQuote = 2_000

/** What a message says in words: its text or caption, and a line for each thing that is no file. */
export function messageWords(message: TelegramMessage): string {
  const { location, venue, contact, sticker, dice, poll, story } = message
  const lines = [
    quoteOf(message),
    message.text ?? message.caption,
    venue
      ? `[place: ${field(venue.title)}, ${field(venue.address)}, ${coordinates(venue.location)}]`
      : location && `[location: ${coordinates(location)}]`,
    contact && `[contact: ${field(fullName(contact))}, ${field(contact.phone_number)}]`,
    sticker && (sticker.emoji ?? '[sticker]'),
    dice && `${field(dice.emoji)} [rolled: ${dice.value}]`,
    poll !== undefined && '[a poll, which cannot be read here]',
    story !== undefined && '[a story, which cannot be read here]',
  ]
  return lines.filter((line) => typeof line === 'string' && line !== '').join('\n')
}

/**
 * Whether words of somebody else are in it. A reply inside the chat brings none: what it points at was said here already,
 * and repeating it here would make it the user's word.
 */
export function hasWordsOfOthers(message: TelegramMessage): boolean {
  const { forward_origin, forward_date, external_reply, via_bot } = message
  return [forward_origin, forward_date, external_reply, via_bot].some((trace) => trace !== undefined)
}

function quoteOf({ external_reply, quote }: TelegramMessage): string | undefined {
  if (external_reply === undefined || !quote) return undefined
  return `[in reply to this from another chat: ${JSON.stringify(quote.text.slice(0, longestQuote).toWellFormed())}]`
}

export function fullName({
  first_name = '',
  last_name = '',
}: {
  first_name?: string | undefined
  last_name?: string | undefined
}): string {
  return `${first_name} ${last_name}`.trim()
}

function field(text: string): string {
  return foreignLine(text, longestField)
}

function coordinates({ latitude, longitude }: { latitude: number; longitude: number }): string {
  return `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`
}
