import { z } from 'zod'

/** What the HTTP API says of servers of the Model Context Protocol. It can look, and nothing else: the word is local. */

export const mcpServerReplySchema = z.object({
  name: z.string(),
  state: z.enum(['new', 'approved', 'changed', 'disabled']),
  is_connected: z.boolean(),
  tools: z.array(z.object({ name: z.string(), description: z.string(), problem: z.string().nullable() })),
  /** What is different since it was approved, line by line. */
  changes: z.array(z.string()),
})

export const mcpServersReplySchema = z.object({ servers: z.array(mcpServerReplySchema) })
export type McpServersReply = z.infer<typeof mcpServersReplySchema>
