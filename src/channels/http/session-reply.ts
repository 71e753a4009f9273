import type { SessionReply } from '../../protocol/api.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { Session } from '../../sessions/sessions.ts'
import { callerOf } from './guards/token-guard.ts'
import type { HttpContext, HttpDependencies } from './http-dependencies.ts'
import { isoTime } from './iso-time.ts'

export function sessionReply(session: Session): SessionReply {
  return {
    id: session.id,
    channel: session.channel,
    contact: session.contact,
    state: session.state,
    events: session.lastSeq,
    last_input_tokens: session.lastInputTokens,
    created_at: isoTime(session.createdAt),
    updated_at: isoTime(session.updatedAt),
  }
}

/** The session that the path names, by id or by contact. Another user's is as unknown as one that never was. */
export async function sessionOf({ conversations }: HttpDependencies, context: HttpContext): Promise<Session> {
  const name = context.req.param('id') ?? ''
  const session = await conversations.findSession(callerOf(context).userId, name)
  if (!session) throw new FamiliarError('not_found', `There is no session ${JSON.stringify(name.slice(0, 200))}`)
  return session
}
