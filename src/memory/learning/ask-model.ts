import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { parseAnyJson, parseJson } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import type { Json } from '../../protocol/messages.ts'
import type { Database, Writer } from '../../storage/database.ts'
import { readMark, writeMark } from '../memories.ts'

/**
 * One question to the fast language model, outside any conversation: within the user's budget, with retries, in the
 * ledger. It never throws for a model that fails, is missing or too expensive: the result contains the reason.
 */
export type AskModel = (question: {
  userId: string
  sessionId: string | null
  /** Its purpose in the ledger: `extraction`, `consolidation`, `deep_memory`, … */
  purpose: string
  system: string
  text: string
  signal: AbortSignal
}) => Promise<ModelAnswer>

export type ModelAnswer =
  | { ok: true; text: string }
  /** `no_model`: there is only the offline model, which cannot answer such questions. */
  | { ok: false; reason: 'no_model' | 'budget' | 'aborted' | 'failed'; message: string }

const maxAnswerLength = 200_000
const maxBeginnings = 8

/**
 * The JSON in a model's answer: alone, in a fence, or with prose around it. Undefined if there is none. Only an object
 * or a list counts, and invalid JSON is not repaired.
 */
export function readModelJson(answer: string): Json | undefined {
  const text = answer.slice(0, maxAnswerLength).trim()
  const whole = objectOrList(text)
  if (whole !== undefined) return whole
  for (const { index } of text.matchAll(/[{[]/g).take(maxBeginnings)) {
    const end = matchingEnd(text, index)
    const value = end < 0 ? undefined : objectOrList(text.slice(index, end))
    if (value !== undefined) return value
  }
  return undefined
}

/**
 * The items of a list that match the schema, at most `most`; each is checked separately, so that a bad one does not
 * affect the others. A value that is not a list has none.
 */
export function readItems<T>(value: Json | undefined, schema: z.ZodType<T>, most: number): T[] {
  if (!Array.isArray(value)) return []
  const items: T[] = []
  // However long the list is, no more than this is read.
  for (const item of value.slice(0, most * 4)) {
    const checked = schema.safeParse(item)
    if (checked.success) items.push(checked.data)
    if (items.length === most) break
  }
  return items
}

/** An own field of an object, never one of the prototype. */
export function fieldOf(value: Json | undefined, name: string): Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.hasOwn(value, name) ? value[name] : undefined
}

function objectOrList(text: string): Json | undefined {
  if (!text.startsWith('{') && !text.startsWith('[')) return undefined
  const parsed = parseAnyJson(text)
  return parsed.ok ? parsed.value : undefined
}

/** Just after the end of what opens at `start`; -1 if it is never closed. Brackets inside strings do not count. */
function matchingEnd(text: string, start: number): number {
  let depth = 0
  let inString = false
  for (let at = start; at < text.length; at += 1) {
    const character = text.charAt(at)
    if (inString) {
      if (character === '\\') at += 1
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{' || character === '[') depth += 1
    else if (character === '}' || character === ']') depth -= 1
    if (depth === 0) return at + 1
  }
  return -1
}

/** How often the same segment is tried before it is skipped. */
const maxAttempts = 3

const troubleSchema = z.object({
  failures: z.number().int(),
  passedOver: z.number().int(),
  last: z.object({ at: z.number(), sessionId: z.string(), reason: z.string(), passedOver: z.boolean() }),
})

export type TroubleReport = z.infer<typeof troubleSchema>

/**
 * Counts failures in the background permanently, because no user sees them. `task` names it in the marks and in the log:
 * `extraction`, `consolidation`.
 */
export function createTrouble(dependencies: { database: Database; clock: Clock; logger: Logger; task: string }) {
  const { database, clock, logger, task } = dependencies
  const reportMark = `${task}-trouble`
  const attemptsMark = (sessionId: string) => `${task}-attempts:${sessionId}`

  return {
    /** Counts one more failure of the segment that ends at `seq`. True if it has been tried often enough. */
    async note(failure: { userId: string; sessionId: string; seq: number; reason: string }): Promise<boolean> {
      const { userId, sessionId, seq, reason } = failure
      const at = clock.now()
      const attempt = await database.write(async (writer) => {
        const attempt = attemptsAt(seq, await readMark(writer, userId, attemptsMark(sessionId))) + 1
        const known = readReport(await readMark(writer, userId, reportMark))
        const passedOver = attempt >= maxAttempts
        const report: TroubleReport = {
          failures: (known?.failures ?? 0) + 1,
          passedOver: (known?.passedOver ?? 0) + (passedOver ? 1 : 0),
          last: { at, sessionId, reason, passedOver },
        }
        await writeMark(writer, { userId, name: attemptsMark(sessionId), value: `${seq} ${attempt}`, at })
        await writeMark(writer, { userId, name: reportMark, value: JSON.stringify(report), at })
        return attempt
      })
      const isLast = attempt >= maxAttempts
      const consequence = isLast ? 'passed over' : 'it is retried after the next turn'
      logger.warn(`${task} failed; ${consequence}`, { session: sessionId, attempt, reason })
      return isLast
    },

    /** In the unit that ends the segment, done or skipped. */
    async clearIn(writer: Writer, userId: string, sessionId: string): Promise<void> {
      const name = attemptsMark(sessionId)
      await writer.deleteFrom('memory_marks').where('user_id', '=', userId).where('name', '=', name).execute()
    },

    async report(userId: string): Promise<TroubleReport | undefined> {
      return readReport(await readMark(database.read, userId, reportMark))
    },
  }
}

/** Attempts of another segment do not count. */
function attemptsAt(seq: number, mark: string | undefined): number {
  const [at, attempts] = (mark ?? '').split(' ').map(Number)
  return at === seq && attempts !== undefined && Number.isSafeInteger(attempts) ? attempts : 0
}

function readReport(mark: string | undefined): TroubleReport | undefined {
  const report = parseJson(mark ?? '', troubleSchema)
  return report.ok ? report.value : undefined
}
