import type { SessionReply } from '../protocol/api.ts'
import type { ApiClient } from './api-client.ts'
import { CommandError } from './command-error.ts'

/** The channel of what is said on the command line. */
export const cliChannel = 'cli'

/**
 * The session that a person means: by its id, by the beginning of its id, or by its contact, those of the command line
 * first. Archived ones are found by id alone, since a contact means its active session.
 */
export async function findSession(client: ApiClient, name: string): Promise<SessionReply> {
  const sessions = await client.sessions({ archived: true })
  const active = sessions.filter((session) => session.state === 'active')
  const beginsWith = sessions.filter((session) => name.length >= 8 && session.id.startsWith(name))
  const found =
    sessions.find((session) => session.id === name) ??
    active.find((session) => session.contact === name && session.channel === cliChannel) ??
    active.find((session) => session.contact === name) ??
    (beginsWith.length === 1 ? beginsWith[0] : undefined)
  if (found) return found
  const known = [...new Set(active.map((session) => session.contact))].slice(0, 8)
  throw new CommandError(`There is no session ${JSON.stringify(name)}.`, {
    code: 'not_found',
    hint: known.length > 0 ? `There are: ${known.join(', ')}. All of them: familiar sessions --all` : nothingSaid,
  })
}

const nothingSaid = 'Nothing was said yet. Begin with: familiar send "Hello"'
