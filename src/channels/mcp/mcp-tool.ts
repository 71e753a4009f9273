import type { CallToolResult, Tool as ListedTool } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { TokenScope } from '../../policy/access-tokens.ts'
import type { Json } from '../../protocol/json.ts'
import { describeIssues } from '../http/describe-issues.ts'

/** What a tool may know of the call beside its arguments. Nothing of `_meta` is in it: a client writes there what it likes. */
export interface McpCall {
  signal: AbortSignal
  /** Tells the client how far it is, where it wants to know. */
  progress(message: string): void
}

/**
 * Something that an MCP client can do. `run` gets the arguments as they came, and answers bad ones and failures of its own
 * as a result with `isError`, which a model can read and act on; it throws only a FamiliarError or a fault.
 */
export interface McpTool {
  listed: ListedTool
  /** What a token must allow: with less, the tool is not there. */
  scope: TokenScope
  run(input: unknown, call: McpCall): Promise<CallToolResult>
}

/** A tool whose arguments and answer are described by the same schemas that check them. */
export function defineMcpTool<Input, Output extends { [key: string]: Json }>(tool: {
  name: string
  title: string
  /** The same for everybody: nothing of any user's is in it. */
  description: string
  scope: TokenScope
  annotations: NonNullable<ListedTool['annotations']>
  input: z.ZodType<Input>
  output: z.ZodType<Output>
  run(input: Input, call: McpCall): Promise<McpAnswer<Output>>
}): McpTool {
  const { name, title, description, scope, annotations, input, output } = tool
  return {
    scope,
    listed: {
      name,
      title,
      description,
      inputSchema: objectSchema(z.toJSONSchema(input, { io: 'input' })),
      outputSchema: objectSchema(z.toJSONSchema(output)),
      annotations: { title, ...annotations },
    },
    async run(given, call) {
      const parsed = input.safeParse(given)
      if (!parsed.success) return refused(describeIssues(parsed.error, 'arguments'))
      const answer = await tool.run(parsed.data, call)
      if ('refusal' in answer) return refused(answer.refusal)
      const { text, data, isError } = answer
      return { content: [{ type: 'text', text }], structuredContent: data, ...(isError && { isError }) }
    },
  }
}

/** The same in words and as data; or why not. */
export type McpAnswer<Output> = { text: string; data: Output; isError?: true } | { refusal: string }

export function refused(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

/** Whatever came as JSON. Not `z.json()`: the schema of that refers to itself, which some clients refuse. */
export const anyJson = z.unknown() as z.ZodType<unknown> as z.ZodType<Json>

export function objectSchema(schema: object): ListedTool['inputSchema'] {
  return { ...schema, type: 'object' }
}
