import { emptyRequestSchema } from '../../../protocol/api.ts'
import { type McpServersReply, mcpServersReplySchema } from '../../../protocol/mcp-api.ts'
import type { McpTools } from '../../../tools/mcp/mcp-tools.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

/**
 * Servers of the Model Context Protocol. Nothing here approves one or names a program (SEC-4): the owner's word is given
 * on the command line of this machine, and `refresh` only reads it again.
 */
export function createMcpRoutes(mcp: Pick<McpTools, 'servers' | 'refresh'>): Route[] {
  // Their programs and addresses are not told: arguments may hold what is nobody else's business.
  const reply = (): McpServersReply => ({
    servers: mcp.servers().map(({ name, state, isConnected, tools, changes }) => {
      return { name, state, is_connected: isConnected, tools, changes }
    }),
  })
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/mcp',
      summary: 'The MCP servers of the configuration, their tools, and which of them wait for approval.',
      auth: 'token',
      scope: 'read',
      isOwners: true,
      reply: { status: 200, schema: mcpServersReplySchema },
      handle: () => jsonReply(reply()),
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/mcp/refresh',
      summary: 'Read again which MCP servers the owner has approved.',
      auth: 'token',
      scope: 'owner',
      isOwners: true,
      body: emptyRequestSchema,
      reply: { status: 200, schema: mcpServersReplySchema },
      async handle() {
        await mcp.refresh()
        return jsonReply(reply())
      },
    }),
  ]
}
