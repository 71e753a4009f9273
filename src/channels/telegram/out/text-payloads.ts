import { toDisplayText } from '../../../base/text.ts'
import { formatMarkdown } from './format-markdown.ts'
import { type FormattedText, plain } from './formatted-text.ts'
import { splitFormatted } from './split-text.ts'
import type { TelegramPayloadInput } from './telegram-payload.ts'

type TextPayload = Extract<TelegramPayloadInput, { kind: 'text' }>

/** What a model has written, in pieces. Each is sent for itself, so that a crash in between repeats none. */
export function markdownPayloads(markdown: string): TextPayload[] {
  return textPayloads(formatMarkdown(markdown))
}

/** Words that are to be read as they are. */
export function plainPayloads(text: string): TextPayload[] {
  return textPayloads(plain(toDisplayText(text.toWellFormed())))
}

function textPayloads(formatted: FormattedText): TextPayload[] {
  return splitFormatted(formatted)
    .filter(({ text }) => text.trim() !== '')
    .map(({ text, entities }) => ({ kind: 'text', text, entities }))
}
