import type { Bearer, TokenScope } from '../../policy/access-tokens.ts'

/** Whose MCP client asks, with what token, and how much that allows. */
export interface McpCaller {
  userId: string
  tokenId: string
  scope: TokenScope
}

const rank: Record<TokenScope, number> = { read: 0, chat: 1, owner: 2 }

export function covers(held: TokenScope, needed: TokenScope): boolean {
  return rank[held] >= rank[needed]
}

/** A client may ask for less than its token allows, and never for more. */
export function callerFrom({ userId, tokenId, scope }: Bearer, wanted: TokenScope | undefined): McpCaller {
  return { userId, tokenId, scope: wanted && covers(scope, wanted) ? wanted : scope }
}

/** What was made for one caller is another one's neither by token nor by scope. */
export function isSameCaller(a: McpCaller, b: McpCaller): boolean {
  return a.userId === b.userId && a.tokenId === b.tokenId && a.scope === b.scope
}
