import type { Conversations } from '../../agent/conversations.ts'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { Capabilities } from '../../custom-tools/capabilities.ts'
import type { Skills } from '../../custom-tools/skills.ts'
import type { FamiliarMemory } from '../../memory/familiar-memory.ts'
import type { Redactor } from '../../security/redactor.ts'
import type { Bearer, TokenScope } from '../../security/tokens.ts'
import type { OpenAssets } from '../../tools/files/open-assets.ts'

/** The user, token and scope of an MCP client. */
export interface McpCaller {
  userId: string
  tokenId: string
  scope: TokenScope
}

const rank: Record<TokenScope, number> = { read: 0, chat: 1, owner: 2 }

export function covers(held: TokenScope, needed: TokenScope): boolean {
  return rank[held] >= rank[needed]
}

/** A client may ask for less than its token allows, but never for more. */
export function callerFrom({ userId, tokenId, scope }: Bearer, wanted: TokenScope | undefined): McpCaller {
  return { userId, tokenId, scope: wanted && covers(scope, wanted) ? wanted : scope }
}

/** Objects of one caller are not shared with another token or scope. */
export function isSameCaller(a: McpCaller, b: McpCaller): boolean {
  return a.userId === b.userId && a.tokenId === b.tokenId && a.scope === b.scope
}

/** MCP over streamable HTTP, in both protocol versions. The guards have checked the request. */
export interface McpEndpoint {
  /** `body` is the parsed body of a POST. Errors in it are answered as the protocol requires. */
  handle(request: Request, given: { caller: McpCaller; body?: unknown }): Promise<Response>
  /** Ends sessions and streams; the turns of clients continue. */
  close(): Promise<void>
}

/** The protocol's answer to an invalid request. */
export function mcpRefusal(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status })
}

/** The same response. Calls `ended` once, when its body was read to the end, failed or was dropped. */
export function whenBodyEnds(response: Response, ended: () => void): Response {
  const { body, status, headers } = response
  if (body)
    return new Response(body.pipeThrough(new TransformStream({ flush: ended, cancel: ended })), { status, headers })
  ended()
  return response
}

/** Loads the implementation for the first client: the library takes 34 MB, which most daemons never need. */
export function createLazyMcp(needs: McpNeeds): McpEndpoint {
  let made: Promise<McpEndpoint> | undefined
  return {
    async handle(request, given) {
      made ??= import('./familiar-mcp.ts').then(({ createFamiliarMcp }) => createFamiliarMcp(needs))
      return (await made).handle(request, given)
    },
    close: async () => (await made)?.close(),
  }
}

/** The services for MCP clients. Without an optional service, its tools, prompts or resources do not exist. */
export interface McpNeeds {
  name: string
  version: string
  memory: FamiliarMemory
  conversations: Conversations
  capabilities?: Pick<Capabilities, 'catalog' | 'search' | 'runs'> | undefined
  skills?: Pick<Skills, 'list' | 'show' | 'onChange'> | undefined
  assets?: Pick<OpenAssets, 'assets'> | undefined
  /** Whether the user's plan includes the tool, by its name in the agent. */
  allowsTool(userId: string, toolName: string): boolean
  /** Calls after every write, until the returned function is called. */
  onWrite(listener: () => void): () => void
  redactor?: Pick<Redactor, 'redact'> | undefined
  clock: Clock
  /** The time zone for dates. */
  timeZone: string
  logger: Logger
}
