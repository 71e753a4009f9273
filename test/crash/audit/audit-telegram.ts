import { z } from 'zod'
import { parseJson } from '../../../src/base/json.ts'
import type { OutboxRow } from '../../../src/storage/feature-tables.ts'
import type { InboxRow } from '../../../src/storage/tables.ts'
import type { Fault } from '../../support/fake-telegram/fault.ts'
import type { RecordedCall, SentMessage } from '../../support/fake-telegram/start-fake-telegram.ts'
import { tokensIn } from '../telegram-token.ts'
import { ofType, type Recorded, turnsOf } from './recorded.ts'

/** Everything that was seen from outside of Familiar, on the side of Telegram. */
export interface TelegramEvidence {
  botId: number
  said: readonly SaidMessage[]
  /** In the order in which they came. */
  calls: readonly RecordedCall[]
  /** The faults of the fake, by position in `calls`. */
  faults: ReadonlyMap<number, Fault>
  /** The delivered messages, in order. */
  arrived: readonly Pick<SentMessage, 'chatId' | 'messageId' | 'text'>[]
  /** How many go out at once, at most: so many may be on their way when a pause begins. */
  maxAtOnce: number
  /** Chats in which Telegram gave the updates in another order than they were said in. */
  reordered: ReadonlySet<number>
}

export interface SaidMessage {
  chatId: number
  messageId: number
  token: string
  /** A person without access. */
  isStranger: boolean
}

const keyPattern = /^event:([^:]+):(\d+):(\d+)$/
const textSchema = z.looseObject({ text: z.string(), repetition: z.int().default(0) })
const finalRefusal = /^(?:400|403) /

/** The problems; empty if nothing is lost, duplicated, out of order or misreported. */
export function auditTelegram(
  evidence: TelegramEvidence,
  { recorded, outbox }: { recorded: Recorded; outbox: readonly OutboxRow[] },
): string[] {
  return [
    ...checkSaid(evidence, recorded),
    ...checkTurns(recorded, outbox),
    ...outbox.flatMap((row) => checkItem(outbox, row)),
    ...checkArrivals(evidence, outbox),
    ...checkOrder(evidence, recorded, outbox),
    ...checkPauses(evidence),
    ...checkFinal(evidence, outbox),
  ]
}

/** Every message of a contact is in one turn, and nothing of a stranger is anywhere. */
function checkSaid({ botId, said }: TelegramEvidence, recorded: Recorded): string[] {
  const turns = turnsOf(recorded)
  const started = Map.groupBy(
    turns.flatMap((turn) => ofType(turn.events, 'turn_started').flatMap(({ messageIds }) => messageIds)),
    (id) => id,
  )
  const received = Map.groupBy(
    [...recorded.events.values()].flatMap((events) => ofType(events, 'message_received')),
    ({ messageId }) => messageId,
  )
  const keyOf = ({ chatId, messageId }: SaidMessage) => `telegram:${botId}:${chatId}:${messageId}`
  const rows = Map.groupBy(recorded.inbox, ({ key }) => key)
  const known = new Set(said.filter(({ isStranger }) => !isStranger).map(keyOf))
  const invented = recorded.inbox.filter(({ key }) => !known.has(key)).map(({ key }) => `invented message: ${key}`)
  const wrong = said.flatMap((message) => {
    const own = rows.get(keyOf(message)) ?? []
    if (message.isStranger) return []
    const [row] = own
    if (!row) return [`lost message: ${message.token} is not in the inbox`]
    return checkReceived(message, {
      row,
      own,
      turns: started.get(row.id)?.length ?? 0,
      events: received.get(row.id) ?? [],
    })
  })
  return [...invented, ...wrong]
}

function checkReceived(
  { token }: SaidMessage,
  found: { row: InboxRow; own: InboxRow[]; turns: number; events: { text: string }[] },
): string[] {
  const { row, own, turns, events } = found
  return [
    ...(own.length > 1 ? [`doubled message: ${token} is in the inbox ${own.length} times`] : []),
    ...(row.state === 'done' ? [] : [`lost message: ${token} is still ${row.state}`]),
    ...(turns === 1 ? [] : [`${turns === 0 ? 'lost message' : 'double turn'}: ${token} is in ${turns} turns`]),
    ...(events.length === 1 ? [] : [`torn turn: ${token} is in the log ${events.length} times`]),
    ...(events.every(({ text }) => text.includes(token)) ? [] : [`false message: ${token} is not what the log holds`]),
  ]
}

/** Everything that turns say is in the outbox, once, complete and in order. */
function checkTurns(recorded: Recorded, outbox: readonly OutboxRow[]): string[] {
  const byEvent = Map.groupBy(
    outbox.filter(({ key }) => keyPattern.test(key)),
    ({ key }) => key.replace(/:\d+$/, ''),
  )
  const expected = new Set<string>()
  const violations = [...recorded.events].flatMap(([sessionId, events]) =>
    ofType(events, 'turn_ended').flatMap(({ seq, text, outcome }) => {
      const key = `event:${sessionId}:${seq}`
      expected.add(key)
      if (outcome !== 'completed') return [`failed turn: ${key} ended as ${outcome}: ${text}`]
      const items = (byEvent.get(key) ?? []).toSorted((one, other) => partOf(one) - partOf(other))
      if (items.length === 0) return [`lost reply: nothing is in the outbox for ${key}`]
      if (items.some((item, at) => partOf(item) !== at)) return [`torn reply: ${key} lacks a piece`]
      const words = (given: string) => given.replaceAll(/\s+/g, ' ').trim()
      return words(items.map(textOf).join('\n')) === words(text) ? [] : [`false reply: ${key} is not what was said`]
    }),
  )
  const doubled = [...byEvent.keys()].filter((key) => !expected.has(key)).map((key) => `invented reply: ${key}`)
  return [...violations, ...doubled]
}

/** The state of an item is what is known of it. */
function checkItem(outbox: readonly OutboxRow[], row: OutboxRow): string[] {
  const { state, error, external_id, key } = row
  if (state === 'sent') return external_id === null ? [`false state: ${key} is sent, and nobody said so`] : []
  if (state === 'failed') return finalRefusal.test(error ?? '') ? [] : [`lost reply: ${key} failed for ${error}`]
  if (state !== 'unknown') return [`lost reply: ${key} is still ${state}`]
  const isRepeated = outbox.some(({ repeats }) => repeats === row.id)
  return isRepeated || repetitionOf(row) >= 3 ? [] : [`lost reply: ${key} is of unknown outcome, and was not repeated`]
}

/** Delivered messages are exactly those marked as sent, and those done without a response. */
function checkArrivals({ arrived, calls, faults }: TelegramEvidence, outbox: readonly OutboxRow[]): string[] {
  const place = (chatId: number | string | null, text: string) => `${chatId} ${text}`
  const arrivals = countsOf(arrived.map(({ chatId, text }) => place(chatId, text)))
  const silent = calls.filter((_call, at) => faults.get(at)?.kind === 'drop').filter(isMessage)
  const expected = countsOf([
    ...outbox.filter(({ state }) => state === 'sent').map((row) => place(row.address, shownText(row))),
    ...silent.map(({ chatId, parameters }) => place(chatId, String(parameters.text))),
  ])
  // A message in flight when Familiar was killed may have arrived: its state must say so.
  const open = countsOf(outbox.filter(isCutOff).map((row) => place(row.address, shownText(row))))
  const numbers = new Set(arrived.map(({ chatId, messageId }) => `${chatId} ${messageId}`))
  const unheard = outbox.filter(({ state, address, external_id }) => {
    return state === 'sent' && !numbers.has(`${address} ${external_id}`)
  })
  return [
    ...unheard.map(({ key }) => `false state: ${key} is sent under a number that Telegram never gave`),
    ...[...new Set([...arrivals.keys(), ...expected.keys()])].flatMap((name) => {
      const [came, known] = [arrivals.get(name) ?? 0, expected.get(name) ?? 0]
      const told = name.slice(0, 60)
      if (came >= known && came <= known + (open.get(name) ?? 0)) return []
      return [`${came > known ? 'double' : 'lost'} reply: ${told} arrived ${came} times, not ${known}`]
    }),
  ]
}

/** In a chat, replies arrive in the order of the log; and messages are in the log in the order in which they were said. */
function checkOrder(
  { arrived, reordered, said }: TelegramEvidence,
  recorded: Recorded,
  outbox: readonly OutboxRow[],
): string[] {
  const places = new Map(arrived.map(({ chatId, messageId }, at) => [`${chatId} ${messageId}`, at]))
  const byAddress = Map.groupBy(outbox, ({ address }) => address)
  const replies = [...byAddress].flatMap(([address, rows]) => {
    const inOrder = rows.toSorted((one, other) => (one.id < other.id ? -1 : 1))
    const sent = inOrder.filter(({ state }) => state === 'sent')
    const sequence = sent.map(({ external_id }) => places.get(`${address} ${external_id}`) ?? -1)
    const events = inOrder.flatMap(({ key }) => keyPattern.exec(key)?.slice(2).map(Number).join('.') ?? [])
    return [
      ...(isAscending(sequence) ? [] : [`reordered replies: to ${address}`]),
      ...(isAscending(events.map(placeOf)) ? [] : [`reordered outbox: for ${address}`]),
    ]
  })
  const ordinals = new Map(said.map(({ token, messageId }) => [token, messageId]))
  const messages = [...recorded.events.values()].flatMap((events) => {
    const tokens = ofType(events, 'message_received').flatMap(({ text }) => tokensIn(text))
    const chatId = Number(tokens[0]?.split('-')[1])
    const inOrder = isAscending(tokens.map((token) => ordinals.get(token) ?? -1))
    return inOrder || reordered.has(chatId) ? [] : [`reordered messages: of ${chatId}`]
  })
  return [...replies, ...messages]
}

/** Requested pauses were respected: strictly by the rejected message, and by others except those in flight. */
function checkPauses({ calls, faults, maxAtOnce }: TelegramEvidence): string[] {
  return [...faults].flatMap(([at, fault]) => {
    const refused = calls[at]
    if (!refused || fault.kind !== 'refuse' || fault.retryAfter === undefined) return []
    const until = refused.at + fault.retryAfter * 1_000
    const isPoll = refused.method === 'getUpdates'
    const after = calls.slice(at + 1).filter((call) => (isPoll ? call.method === 'getUpdates' : isMessage(call)))
    const early = after.filter((call) => call.at < until)
    const own = early.filter(({ chatId }) => isPoll || chatId === refused.chatId)
    if (own.length > 0) return [`broken pause: ${refused.method} to ${refused.chatId} came again too early`]
    return early.length < maxAtOnce
      ? []
      : [`broken pause: ${early.length} came within ${fault.retryAfter} s of a pause`]
  })
}

/** A message that can never succeed is tried once, unless its rejection could not be written. */
function checkFinal({ calls, faults }: TelegramEvidence, outbox: readonly OutboxRow[]): string[] {
  const isUnwritten = ({ chatId, parameters }: RecordedCall) =>
    outbox.some((row) => isCutOff(row) && row.address === String(chatId) && shownText(row) === parameters.text)
  const refused = [...faults].flatMap(([at, fault]) => {
    const call = calls[at]
    return call && fault.kind === 'refuse' && (fault.code === 400 || fault.code === 403) ? [{ call, at }] : []
  })
  const again = refused.filter(({ call, at }) => {
    const isRepeated = calls.some((other, place) => {
      return place > at && other.chatId === call.chatId && other.parameters.text === call.parameters.text
    })
    return isRepeated && !isUnwritten(call)
  })
  return again.map(({ call }) => `needless attempt: to ${call.chatId} after a final refusal`)
}

function isCutOff({ state, error }: OutboxRow): boolean {
  return state === 'unknown' && /interrupted while/.test(error ?? '')
}

function isMessage({ method }: Pick<RecordedCall, 'method'>): boolean {
  return method === 'sendMessage'
}

function partOf({ key }: OutboxRow): number {
  return Number(keyPattern.exec(key)?.[3] ?? -1)
}

function placeOf(place: string): number {
  const [seq = 0, part = 0] = place.split('.').map(Number)
  return seq * 1_000 + part
}

function textOf({ payload }: OutboxRow): string {
  const read = parseJson(payload, textSchema)
  return read.ok ? read.value.text : ''
}

function repetitionOf({ payload }: OutboxRow): number {
  const read = parseJson(payload, textSchema)
  return read.ok ? read.value.repetition : 0
}

function shownText(row: OutboxRow): string {
  return repetitionOf(row) > 0 ? `(perhaps a repetition)\n${textOf(row)}` : textOf(row)
}

function countsOf(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

function isAscending(numbers: readonly number[]): boolean {
  return numbers.every((number, at) => at === 0 || number > (numbers[at - 1] ?? 0))
}
