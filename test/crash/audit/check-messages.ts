import { project, toMessages } from '../../../src/agent/sessions/projection.ts'
import type { LoggedEvent } from '../../../src/agent/sessions/session-event.ts'
import type { InboxRow } from '../../../src/storage/tables.ts'
import { textOfHistory } from '../../support/valid-history.ts'
import { type Evidence, rowsOf, type SentMessage } from './evidence.ts'
import { ofType, type Recorded } from './recorded.ts'

/** Acknowledged messages exist: once in the inbox, once in the log, once in the model's input. */
export function checkMessages(evidence: Evidence, recorded: Recorded): string[] {
  const known = new Set(evidence.messages.flatMap((message) => rowsOf(recorded.inbox, message)))
  const invented = recorded.inbox.filter((row) => !known.has(row)).map((row) => `invented message: ${row.key}`)
  const histories = readHistories(recorded)
  return [
    ...invented,
    ...evidence.messages.flatMap((message) => checkMessage(evidence, recorded, histories, message)),
    ...checkOrder(evidence, recorded),
  ]
}

function checkMessage(evidence: Evidence, recorded: Recorded, histories: Histories, message: SentMessage): string[] {
  const rows = rowsOf(recorded.inbox, message)
  if (rows.length > 1) return [`doubled message: ${message.token} is in the inbox ${rows.length} times`]
  const row = rows[0]
  if (!row) return message.acknowledgedAt === undefined ? [] : [`lost message: ${message.token} is not in the inbox`]
  const violations: string[] = []
  if (evidence.settled && row.state !== 'done') violations.push(`lost message: ${message.token} is still ${row.state}`)
  violations.push(...checkPresence(histories, row, message))
  if (message.reply !== undefined && !repliesOf(recorded, row).includes(message.reply)) {
    violations.push(
      `false reply: ${message.token} was told ${JSON.stringify(message.reply)}, which its turn did not say`,
    )
  }
  return violations
}

function checkPresence(histories: Histories, row: InboxRow, message: SentMessage): string[] {
  const expected = row.turn_id === null ? 0 : 1
  const history = histories.get(row.session_id)
  const inLog = occurrences(history?.whole ?? '', message.text)
  const inPrompt = occurrences(history?.told ?? '', message.token)
  const violations: string[] = []
  if (inLog !== expected) violations.push(`${verdict(inLog)} message: the log tells ${message.token} ${inLog} times`)
  if (inPrompt !== expected)
    violations.push(`${verdict(inPrompt)} message: a model is told ${message.token} ${inPrompt} times`)
  return violations
}

function verdict(count: number): string {
  return count === 0 ? 'lost' : 'doubled'
}

type Histories = ReadonlyMap<string, { whole: string; told: string }>

/** `whole` is the conversation as if it had never been summarized, `told` the content of the next request. */
function readHistories({ events }: Recorded): Histories {
  const text = (own: LoggedEvent[]) => textOfHistory(toMessages(project(own), { mediaOfTurn: null }))
  return new Map(
    [...events].map(([sessionId, own]) => {
      const whole = text(own.filter((event) => event.type !== 'compacted'))
      return [sessionId, { whole, told: text(own) }]
    }),
  )
}

function repliesOf({ events }: Recorded, row: InboxRow): string[] {
  const own = (events.get(row.session_id) ?? []).filter((event) => event.turnId === row.turn_id)
  return ofType(own, 'turn_ended').map((event) => event.text)
}

/** A message that was sent after another had been acknowledged comes after it. */
function checkOrder(evidence: Evidence, recorded: Recorded): string[] {
  const byId = new Map(
    evidence.messages.flatMap((message) => rowsOf(recorded.inbox, message).map((row) => [row.id, message] as const)),
  )
  return [...recorded.events.values()].flatMap((own) => {
    let newest: SentMessage | undefined
    return ofType(own, 'message_received').flatMap((event) => {
      const message = byId.get(event.messageId)
      if (!message) return []
      const overtaken = newest && message.acknowledgedAt !== undefined && newest.sentAt > message.acknowledgedAt
      const violations = overtaken ? [`reordered messages: ${newest?.token} comes before ${message.token}`] : []
      if (!newest || message.sentAt > newest.sentAt) newest = message
      return violations
    })
  })
}

function occurrences(text: string, part: string): number {
  return text.split(part).length - 1
}
