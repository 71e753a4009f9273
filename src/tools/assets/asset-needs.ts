import type { AssetActor } from '../../assets/asset-backend.ts'
import type { Assets } from '../../assets/assets.ts'
import { saidByUser } from '../builtin/users-words.ts'
import type { ToolContext } from '../tool.ts'

export interface AssetNeeds {
  assets: Pick<Assets, 'read' | 'write' | 'edit'>
  /** Whose pins the session has. */
  agentOf(userId: string, sessionId: string): Promise<string>
}

/** The agent, writing `text`. With words of others in sight they may be what it writes, unless the user just said it. */
export async function actorOf(needs: AssetNeeds, context: ToolContext, text = ''): Promise<AssetActor> {
  const { userId, sessionId, seen, userText } = context
  const isOthers = seen.untrusted && !saidByUser(text, userText)
  const agent = await needs.agentOf(userId, sessionId)
  return { userId, author: 'agent', agent, trust: isOthers ? 'untrusted' : 'internal' }
}
