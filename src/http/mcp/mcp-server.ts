import {
  type CallToolResult,
  type GetPromptResult,
  type Tool as ListedTool,
  type ListPromptsResult,
  type ListResourcesResult,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceNotFoundError,
  type ResourceTemplateType,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Logger } from '../../base/logger.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Json } from '../../protocol/messages.ts'
import type { TokenScope } from '../../security/tokens.ts'
import { describeError, describeRequestIssues } from '../replies.ts'

/** The tools, resources and prompts of one caller. It contains only those that their scope allows (MCP-2). */
export interface McpSurface {
  tools: {
    /** Only a few, because clients show all of them to their model. */
    list(): readonly McpTool[]
    /** Also finds tools that are not listed. */
    find(name: string): McpTool | undefined
  }
  resources: McpResources
  prompts: {
    list(): ListPromptsResult['prompts']
    /** Undefined if there is none of that name. */
    get(name: string, given: Readonly<Record<string, string>>): GetPromptResult | undefined
  }
}

export interface McpResources {
  templates: readonly ResourceTemplateType[]
  /** Page by page; `bad_request` for a cursor that no page has given. */
  list(cursor: string | undefined): Promise<Pick<ListResourcesResult, 'resources' | 'nextCursor'>>
  /** Undefined if there is no such resource; resources of other users do not exist (SEC-22). */
  read(uri: string): Promise<ReadResourceResult | undefined>
  /** Completions for the argument of a template, best first; empty if there are none. */
  complete(template: string, given: { argument: string; value: string }): Promise<string[]>
}

/**
 * The facts about a call that a tool may use beside its arguments. `_meta` is left out, because a client can write
 * anything there.
 */
export interface McpCall {
  signal: AbortSignal
  /** Sends the progress to the client, if it asked for it. */
  progress(message: string): void
}

/**
 * A tool for MCP clients. `run` validates its arguments, and returns failures as a result with `isError`, which a model can
 * read. It throws only a FamiliarError or an unexpected error.
 */
export interface McpTool {
  listed: ListedTool
  /** The scope that a token needs; without it the tool does not exist. */
  scope: TokenScope
  run(input: unknown, call: McpCall): Promise<CallToolResult>
}

/** A tool whose arguments and answer are described by the same schemas that check them. */
export function defineMcpTool<Input, Output extends { [key: string]: Json }>(tool: {
  name: string
  title: string
  /** The same for all users: it contains no user data. */
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
      inputSchema: listedInputSchema(z.toJSONSchema(input, { io: 'input' })),
      outputSchema: listedInputSchema(z.toJSONSchema(output)),
      annotations: { title, ...annotations },
    },
    async run(given, call) {
      const parsed = input.safeParse(given)
      if (!parsed.success) return refusedCall(describeRequestIssues(parsed.error, 'arguments'))
      return toCallResult(await tool.run(parsed.data, call))
    },
  }
}

/** The answer as text and as data, or the reason for a refusal. */
export type McpAnswer<Output> = { text: string; data: Output; isError?: true } | { refusal: string }

export function toCallResult(answer: McpAnswer<{ [key: string]: Json }>): CallToolResult {
  if ('refusal' in answer) return refusedCall(answer.refusal)
  const { text, data, isError } = answer
  return { content: [{ type: 'text', text }], structuredContent: data, ...(isError && { isError }) }
}

export function refusedCall(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

/** Any JSON. Not `z.json()`: its schema refers to itself, which some clients refuse. */
export const anyJson = z.unknown() as z.ZodType<unknown> as z.ZodType<Json>

export function listedInputSchema(schema: object): ListedTool['inputSchema'] {
  return { ...schema, type: 'object' }
}

const maxCompletions = 100

/** The resources that a client of the older protocol version has subscribed to. */
export interface McpSubscriptions {
  add(uri: string): Promise<void>
  remove(uri: string): void
}

/**
 * Serves the protocol for one caller, in the version of the connected transport. Every list is read again, so that changes
 * appear at once.
 */
export function createMcpServer(dependencies: {
  name: string
  version: string
  instructions: string
  surface: McpSurface
  subscriptions: McpSubscriptions
  logger: Logger
}): Server {
  const { surface, subscriptions, logger } = dependencies
  const { tools, resources, prompts } = surface
  const server = new Server(
    { name: dependencies.name, version: dependencies.version },
    {
      instructions: dependencies.instructions,
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true },
        prompts: { listChanged: true },
        completions: {},
      },
    },
  )

  /** Only the message of a FamiliarError is shown; other errors go to the log. */
  async function answering<T>(work: () => Promise<T> | T): Promise<T> {
    try {
      return await work()
    } catch (cause) {
      if (cause instanceof ProtocolError) throw cause
      const { code, message } = describeError(cause, logger)
      const isTheirs = code === 'bad_request' || code === 'not_found'
      throw new ProtocolError(isTheirs ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError, message)
    }
  }

  server.setRequestHandler('tools/list', () => ({ tools: tools.list().map(({ listed }) => listed) }))

  server.setRequestHandler('tools/call', async ({ params }, context): Promise<CallToolResult> => {
    const tool = tools.find(params.name)
    if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name.slice(0, 200)}`)
    try {
      const progress = progressOf(context)
      const result = await tool.run(params.arguments ?? {}, { signal: context.mcpReq.signal, progress: progress.tell })
      await progress.isSent()
      return result
    } catch (cause) {
      if (context.mcpReq.signal.aborted) throw cause
      return refusedCall(inWords(describeError(cause, logger)))
    }
  })

  server.setRequestHandler('resources/list', ({ params }) => answering(() => resources.list(params?.cursor)))
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [...resources.templates] }))
  server.setRequestHandler('resources/read', ({ params: { uri } }) =>
    answering(async () => {
      const found = await resources.read(uri)
      if (!found) throw new ResourceNotFoundError(uri)
      return found
    }),
  )
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }) =>
    answering(async () => {
      if (!(await resources.read(uri))) throw new ResourceNotFoundError(uri)
      await subscriptions.add(uri)
      return {}
    }),
  )
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscriptions.remove(uri)
    return {}
  })

  server.setRequestHandler('prompts/list', () => ({ prompts: [...prompts.list()] }))
  server.setRequestHandler('prompts/get', ({ params }) =>
    answering(() => {
      const prompt = prompts.get(params.name, params.arguments ?? {})
      if (!prompt) throw new FamiliarError('not_found', `There is no prompt named ${params.name.slice(0, 200)}.`)
      return prompt
    }),
  )

  server.setRequestHandler('completion/complete', ({ params: { ref, argument } }) =>
    answering(async () => {
      const isTemplate = ref.type === 'ref/resource'
      const found = isTemplate
        ? await resources.complete(ref.uri, { argument: argument.name, value: argument.value })
        : []
      const values = found.slice(0, maxCompletions)
      return { completion: { values, total: found.length, hasMore: found.length > values.length } }
    }),
  )
  return server
}

/** The protocol wants increasing numbers; the total is unknown. `isSent` resolves when all of it is on its way. */
function progressOf({ mcpReq }: ServerContext) {
  const progressToken = mcpReq._meta?.progressToken
  const sent: Promise<void>[] = []
  return {
    tell(message: string): void {
      if (progressToken === undefined) return
      const params = { progressToken, progress: sent.length + 1, message }
      sent.push(mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined))
    },
    isSent: () => Promise.all(sent),
  }
}

/** MCP has no header for the time of a retry. */
function inWords({ message, retryAfterSeconds }: FamiliarError): string {
  return retryAfterSeconds === undefined ? message : `${message}. Try again in ${retryAfterSeconds} seconds.`
}
