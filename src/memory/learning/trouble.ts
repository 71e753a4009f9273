import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import type { Database, Writer } from '../../storage/database.ts'
import { clearMark, readMark, writeMark } from './marks.ts'

/** How often the same stretch is tried before it is passed over. */
const mostAttempts = 3

const troubleSchema = z.object({
  failures: z.number().int(),
  passedOver: z.number().int(),
  last: z.object({ at: z.number(), sessionId: z.string(), reason: z.string(), passedOver: z.boolean() }),
})

export type TroubleReport = z.infer<typeof troubleSchema>

/** What went wrong in the background, counted for good: nobody was there to see it. */
export interface Trouble {
  /** Counts one more failure of the stretch that ends at `seq`. True where it has now been tried often enough. */
  note(failure: { userId: string; sessionId: string; seq: number; reason: string }): Promise<boolean>
  /** In the unit that ends the stretch, done or passed over. */
  clearIn(writer: Writer, userId: string, sessionId: string): Promise<void>
  report(userId: string): Promise<TroubleReport | undefined>
}

/** `task` names it in the marks and in the log: `extraction`, `consolidation`. */
export function createTrouble(dependencies: {
  database: Database
  clock: Clock
  logger: Logger
  task: string
}): Trouble {
  const { database, clock, logger, task } = dependencies
  const reportMark = `${task}-trouble`
  const attemptsMark = (sessionId: string) => `${task}-attempts:${sessionId}`

  return {
    async note({ userId, sessionId, seq, reason }) {
      const at = clock.now()
      const attempts = await database.write(async (writer) => {
        const before = attemptsAt(seq, await readMark(writer, userId, attemptsMark(sessionId)))
        const known = readReport(await readMark(writer, userId, reportMark))
        const passedOver = before + 1 >= mostAttempts
        const report: TroubleReport = {
          failures: (known?.failures ?? 0) + 1,
          passedOver: (known?.passedOver ?? 0) + (passedOver ? 1 : 0),
          last: { at, sessionId, reason, passedOver },
        }
        await writeMark(writer, { userId, name: attemptsMark(sessionId), value: `${seq} ${before + 1}`, at })
        await writeMark(writer, { userId, name: reportMark, value: JSON.stringify(report), at })
        return before + 1
      })
      const isLast = attempts >= mostAttempts
      const consequence = isLast ? 'passed over' : 'it is tried again after the next turn'
      logger.warn(`${task} failed; ${consequence}`, { session: sessionId, attempt: attempts, reason })
      return isLast
    },
    clearIn: (writer, userId, sessionId) => clearMark(writer, userId, attemptsMark(sessionId)),
    async report(userId) {
      return readReport(await readMark(database.read, userId, reportMark))
    },
  }
}

/** Attempts of another stretch than this one do not count. */
function attemptsAt(seq: number, mark: string | undefined): number {
  const [at, attempts] = (mark ?? '').split(' ').map(Number)
  return at === seq && attempts !== undefined && Number.isSafeInteger(attempts) ? attempts : 0
}

function readReport(mark: string | undefined): TroubleReport | undefined {
  const report = parseJson(mark ?? '', troubleSchema)
  return report.ok ? report.value : undefined
}
