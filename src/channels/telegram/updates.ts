import { z } from 'zod'
import { sha256 } from '../../base/ids.ts'
import { languageOfTag } from '../../base/languages.ts'
import { type ApprovalScope, approvalScopes } from '../../protocol/permissions.ts'
import { foreignLine } from '../../tools/documents/foreign-text.ts'
import shortTexts from './short-texts.json' with { type: 'json' }

/** The data of a button: at most 64 bytes, and the same after a restart. */

export function approvalData(approvalId: string, scope: ApprovalScope | null): string {
  return `a:${approvalId}:${scope === null ? 'n' : letters[scope]}`
}

const letters = { once: 'y', conversation: 'c', always: 'a' } as const

/** Question ids are too long for it. */
export function questionData(questionId: string, choice: string): string {
  return `q:${questionMark(questionId)}:${choice}`
}

export function questionMark(questionId: string): string {
  return sha256(questionId).slice(0, 32)
}

/** `mask`: the options chosen so far, one bit each. `isDone` answers the question. */
export interface ChoicePress {
  id: string
  mask: number
  isDone: boolean
}

const choicePattern = /^(t|d)(\d{1,2})$/

export function choiceData({ id, mask, isDone }: ChoicePress): string {
  return `o:${id}:${isDone ? 'd' : 't'}${mask}`
}

function readChoiceData(id: string, rest: string): ChoicePress | undefined {
  const [, step, mask = ''] = choicePattern.exec(rest) ?? []
  return step === undefined || Number(mask) >= 64 ? undefined : { id, mask: Number(mask), isDone: step === 'd' }
}

/** The meaning of a button. Telegram stores it with the message, so that it is the same after a restart. */
export type ButtonMeaning =
  | { kind: 'approval'; id: string; answer: 'approve' | 'deny'; scope: ApprovalScope }
  /** The answer to a build's question; `mark` identifies the question, see `questionMark`. */
  | { kind: 'question'; mark: string; choice: string }
  | { kind: 'confirm'; id: string; isYes: boolean }
  | { kind: 'choice'; press: ChoicePress }
  /** It only shows the choice. */
  | { kind: 'none' }

const pattern = /^([aqco]):([0-9a-zA-Z._-]{1,40}):([\s\S]{1,64})$/

export const noButton = '-'

export function confirmData(id: string, isYes: boolean): string {
  return `c:${id}:${isYes ? 'y' : 'n'}`
}

/** Accepts any input: unreadable data means nothing. */
export function readButton(data: string): ButtonMeaning {
  const [, kind, id = '', rest = ''] = pattern.exec(data) ?? []
  if (kind === 'q') return { kind: 'question', mark: id, choice: rest }
  const press = kind === 'o' ? readChoiceData(id, rest) : undefined
  if (press) return { kind: 'choice', press }
  if (kind === 'a') {
    const scope = approvalScopes.find((known) => letters[known] === rest)
    if (scope) return { kind: 'approval', id, answer: 'approve', scope }
    return rest === 'n' ? { kind: 'approval', id, answer: 'deny', scope: 'once' } : { kind: 'none' }
  }
  if (rest !== 'y' && rest !== 'n') return { kind: 'none' }
  if (kind === 'c') return { kind: 'confirm', id, isYes: rest === 'y' }
  return { kind: 'none' }
}

const maxFieldLength = 200
const maxQuoteLength = 2_000

/** A message as text: its text or caption, and a line for each part that is not a file. */
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
 * Whether it contains untrusted text. A reply within the chat does not: its target was said here already, and repeating
 * it would make it the user's own words.
 */
export function hasWordsOfOthers(message: TelegramMessage): boolean {
  const { forward_origin, forward_date, external_reply, via_bot } = message
  return [forward_origin, forward_date, external_reply, via_bot].some((trace) => trace !== undefined)
}

function quoteOf({ external_reply, quote }: TelegramMessage): string | undefined {
  if (external_reply === undefined || !quote) return undefined
  return `[in reply to this from another chat: ${JSON.stringify(quote.text.slice(0, maxQuoteLength).toWellFormed())}]`
}

export function fullName({ first_name = '', last_name = '' }: Pick<Person, 'first_name' | 'last_name'>): string {
  return `${first_name} ${last_name}`.trim()
}

function field(text: string): string {
  return foreignLine(text, maxFieldLength)
}

function coordinates({ latitude, longitude }: { latitude: number; longitude: number }): string {
  return `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`
}

/** The parts of a Bot API message that are used here; the rest is dropped. */

const id = z.int()
const text = z.string()
const bytes = z.number().nonnegative().optional()

/** Unreadable parts are dropped: the rest of the message still counts. */
const lenient = <T>(schema: z.ZodType<T>) => schema.optional().catch(undefined)

const fileFields = { file_id: text, file_size: bytes }
const namedFileSchema = z.object({ ...fileFields, file_name: text.optional(), mime_type: text.optional() })
const soundSchema = z.object({ ...fileFields, mime_type: text.optional(), duration: z.number().optional() })
const photoSchema = z.object({ ...fileFields, width: z.number(), height: z.number() })
const placeSchema = z.object({ latitude: z.number(), longitude: z.number() })

const personSchema = z.object({
  id,
  is_bot: z.boolean().optional(),
  first_name: text.optional(),
  last_name: text.optional(),
  /** Of the person's app: `de`. */
  language_code: lenient(text),
})

export type Person = z.infer<typeof personSchema>

/** A text of the bot itself in the language of the person's app; English for any other language. */
export function shortText(name: keyof (typeof shortTexts)['en'], person: Pick<Person, 'language_code'> | undefined) {
  return shortTexts[languageOfTag(person?.language_code) ?? 'en'][name]
}

const chatSchema = z.object({ id, type: text })

export const telegramMessageSchema = z.object({
  message_id: id,
  date: z.number(),
  edit_date: lenient(z.number()),
  chat: chatSchema,
  from: lenient(personSchema),
  media_group_id: lenient(text),
  text: lenient(text),
  caption: lenient(text),
  forward_origin: z.unknown().optional(),
  /** From servers before version 7.0 of the Bot API. */
  forward_date: z.unknown().optional(),
  external_reply: z.unknown().optional(),
  quote: lenient(z.object({ text })),
  reply_to_message: lenient(z.object({ message_id: id })),
  via_bot: z.unknown().optional(),
  photo: lenient(z.array(photoSchema)),
  document: lenient(namedFileSchema),
  video: lenient(namedFileSchema),
  animation: lenient(namedFileSchema),
  audio: lenient(z.object({ ...namedFileSchema.shape, ...soundSchema.shape })),
  voice: lenient(soundSchema),
  video_note: lenient(soundSchema),
  sticker: lenient(z.object({ emoji: text.optional() })),
  location: lenient(placeSchema),
  venue: lenient(z.object({ location: placeSchema, title: text, address: text })),
  contact: lenient(z.object({ phone_number: text, first_name: text, last_name: text.optional() })),
  dice: lenient(z.object({ emoji: text, value: z.number() })),
  poll: z.unknown().optional(),
  story: z.unknown().optional(),
})
export type TelegramMessage = z.infer<typeof telegramMessageSchema>

export const buttonPressSchema = z.object({
  id: text,
  from: personSchema,
  data: text.optional(),
  /** Missing if it is too old to be shown. */
  message: z.object({ message_id: id, chat: chatSchema }).optional(),
})
export type ButtonPress = z.infer<typeof buttonPressSchema>

export const membershipSchema = z.object({
  chat: chatSchema,
  new_chat_member: z.object({ status: text }),
})

export type TelegramUpdate = { updateId: number } & (
  | { kind: 'message'; message: TelegramMessage; isEdit: boolean }
  | { kind: 'button'; press: ButtonPress }
  | { kind: 'membership'; chat: z.infer<typeof chatSchema>; status: string }
  /** An unrequested or unreadable kind. */
  | { kind: 'other' }
)
