import type { McpCaller } from '../mcp-caller.ts'

/** MCP over streamable HTTP, of both generations at one address. Guards, token and size of the body are asked before. */
export interface McpEndpoint {
  /** `body` is the parsed one of a POST. What is wrong with it is answered as the protocol says. */
  handle(request: Request, given: { caller: McpCaller; body?: unknown }): Promise<Response>
  /** Ends sessions and streams; the turns that clients wait for go on. */
  close(): Promise<void>
}
