import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { plural } from '../base/format.ts'
import { writeFileAtomically } from '../base/safe-file.ts'
import type { SessionReply } from '../protocol/api.ts'
import type { ApiClient } from './api-client.ts'
import type { CommandHandler } from './command.ts'
import { withFamiliar } from './connect.ts'
import { findSession } from './find-session.ts'
import { historyPages } from './history-pages.ts'

export interface ExportInput {
  session?: string
  all?: boolean
  out: string
}

/** The whole log as JSON lines: a file for each session and day (UTC), written anew each time. */
export const exportSessions: CommandHandler<ExportInput> = async (context, input) => {
  const { output } = context
  const directory = resolve(input.out)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const { files, sessions, events } = await withFamiliar(context, async (client) => {
    const chosen = input.session
      ? [await findSession(client, input.session)]
      : await client.sessions({ archived: input.all === true })
    const files: string[] = []
    let events = 0
    for (const session of chosen) {
      for (const [day, lines] of await linesByDay(client, session)) {
        const path = join(directory, `${session.id}.${day}.jsonl`)
        await writeFileAtomically(path, `${lines.join('\n')}\n`)
        files.push(path)
        events += lines.length
      }
    }
    return { files, sessions: chosen.length, events }
  })
  if (input.json) output.printJson({ directory, files, sessions, events })
  else {
    for (const file of files) output.print(file)
    output.note(`${plural(events, 'event')} of ${plural(sessions, 'session')} in ${plural(files.length, 'file')}.`)
  }
  return undefined
}

async function linesByDay(client: ApiClient, session: SessionReply): Promise<Map<string, string[]>> {
  const days = new Map<string, string[]>()
  const { id: session_id, channel, contact } = session
  for await (const events of historyPages(client, session_id, { full: true })) {
    for (const { seq, at, turn_id, type, data } of events) {
      const day = at.slice(0, 'YYYY-MM-DD'.length)
      const lines = days.get(day) ?? []
      lines.push(JSON.stringify({ session_id, channel, contact, seq, at, turn_id, type, data }))
      days.set(day, lines)
    }
  }
  return days
}
