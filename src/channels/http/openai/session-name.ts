import { sha256 } from '../../../base/hash.ts'
import { canonicalJson } from '../../../base/json.ts'
import { messageRequestSchema } from '../../../protocol/api.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { HttpContext } from '../http-dependencies.ts'
import { isSessionId } from '../inbound-message.ts'
import { type ClientList, contentHash } from './client-list.ts'

/** How clients of OpenAI's API name a session: all of them are told by this channel. */
export const openAiChannel = 'openai'

/**
 * Which conversation a request belongs to. `header`: this one and no other. `user`: whoever it is may have several,
 * which their beginnings tell apart. `list`: only what was said tells.
 */
export interface SessionName {
  from: 'header' | 'user' | 'list'
  name: string
}

const maxNameLength = 150

export function sessionNameOf(context: HttpContext, user: string | null | undefined, list: ClientList): SessionName {
  const header = context.req.header('familiar-session')
  if (header !== undefined) return { from: 'header', name: checkedName(header, 'familiar-session') }
  if (user?.trim()) {
    const name = checkedName(user, 'user')
    // Many programs number their users as we number sessions.
    const isOdd = isSessionId(name) || name.length > maxNameLength
    return { from: 'user', name: isOdd ? `user-${sha256(name).slice(0, 24)}` : name }
  }
  const first = list.past[0] ?? list.newest
  const beginning = canonicalJson([list.instructions, contentHash(first.said)])
  return { from: 'list', name: `chat-${sha256(beginning).slice(0, 24)}` }
}

/** Another conversation under the same name. */
export function branchName(name: string): string {
  return `${name.slice(0, maxNameLength)}~${crypto.randomUUID().slice(0, 8)}`
}

export function isBranchOf(contact: string, name: string): boolean {
  return contact === name || contact.startsWith(`${name.slice(0, maxNameLength)}~`)
}

function checkedName(text: string, where: string): string {
  const checked = messageRequestSchema.shape.session.safeParse(text)
  if (checked.success) return checked.data
  throw new FamiliarError('bad_request', `${where}: ${checked.error.issues[0]?.message ?? 'is no name'}`)
}
