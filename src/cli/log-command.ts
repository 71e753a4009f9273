import type { HistoryEvent } from '../protocol/api.ts'
import type { ApiClient } from './api-client.ts'
import type { CommandHandler } from './command.ts'
import { CommandError, exitCodes } from './command-error.ts'
import { connect } from './connect.ts'
import { findSession } from './find-session.ts'
import { historyPages } from './history-pages.ts'
import { jsonLines } from './json-lines.ts'
import { logLine } from './log-line.ts'

/** Every event of the log, in full, a line each; with `--follow` also those to come. */
export const log: CommandHandler<{ session: string; follow?: boolean }> = async (context, input) => {
  const connection = await connect(context)
  const { client } = connection
  const printLine = jsonLines(context)
  const show = (event: HistoryEvent) => (input.json ? printLine(event) : context.output.print(logLine(event)))
  try {
    const session = await findSession(client, input.session)
    const seen = await showNew({ client, sessionId: session.id, after: 0, show })
    if (input.follow) await follow({ client, sessionId: session.id, after: seen, show, signal: context.signal })
    return exitCodes.fine
  } finally {
    await connection.close()
  }
}

interface LogReader {
  client: ApiClient
  sessionId: string
  after: number
  show(event: HistoryEvent): void
}

/** Shows what the log holds after `after`; answers how far it got. */
async function showNew({ client, sessionId, after, show }: LogReader): Promise<number> {
  let seen = after
  for await (const events of historyPages(client, sessionId, { full: true, after })) {
    for (const event of events) {
      seen = event.seq
      show(event)
    }
  }
  return seen
}

/** The stream says that something happened; what happened is read from the log, whole and with its time. */
async function follow(reader: LogReader & { signal: AbortSignal }): Promise<void> {
  const { client, sessionId, after, signal } = reader
  let seen = after
  try {
    for await (const { cursor } of client.events(sessionId, { after: String(after), signal })) {
      // A cursor begins with the number of the last event that was told to its end.
      if (Number.parseInt(cursor, 10) > seen) seen = await showNew({ ...reader, after: seen })
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  // Ctrl-C is how following is meant to end.
  if (!signal.aborted)
    throw new CommandError('Familiar was stopped.', { exitCode: exitCodes.unreachable, code: 'unreachable' })
}
