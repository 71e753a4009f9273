import { FamiliarError } from '../../protocol/error.ts'
import type { Session } from '../../sessions/sessions.ts'
import { isWorkChannel } from '../../sessions/work-channels.ts'
import type { CommandCall } from './command.ts'
import type { CommandServices } from './command-services.ts'

type Looks = Pick<CommandServices['conversations'], 'findSession'>

/** The session that the command was typed in. */
export async function sessionHere(
  conversations: Looks,
  { userId, sessionId }: Pick<CommandCall, 'userId' | 'sessionId'>,
): Promise<Session> {
  const session = sessionId === null ? undefined : await conversations.findSession(userId, sessionId)
  if (!session) throw new FamiliarError('not_found', 'Nothing was said here yet.')
  return session
}

/** The named one, or this one. Another user's is as unknown as one that never was; work in the background is no session. */
export async function sessionNamed(
  conversations: Looks,
  call: Pick<CommandCall, 'userId' | 'sessionId'>,
  name: string,
): Promise<Session> {
  if (name === '') return sessionHere(conversations, call)
  const session = await conversations.findSession(call.userId, name)
  if (session && !isWorkChannel(session.channel)) return session
  throw new FamiliarError('not_found', `There is no session ${JSON.stringify(name.slice(0, 80).toWellFormed())}.`)
}

export async function sessionNames(
  conversations: Pick<CommandServices['conversations'], 'sessions'>,
  userId: string,
): Promise<string[]> {
  return (await conversations.sessions(userId)).map(({ contact }) => contact)
}
