import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { Logger } from '../../base/logger.ts'
import { FamiliarError } from '../../protocol/error.ts'
import { describeError } from '../http/error-reply.ts'
import type { McpSurface } from './mcp-surface.ts'
import { refused } from './mcp-tool.ts'

const mostCompletions = 100

/** The resources that a client of the older generation wants to hear of, which says so in requests of their own. */
export interface McpSubscriptions {
  add(uri: string): Promise<void>
  remove(uri: string): void
}

/**
 * The protocol over what one caller is shown. It serves either generation: which one, the transport that it is connected
 * to decides. Every list is asked anew, so that what changed is there at once.
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

  /** Only a FamiliarError speaks for itself; the rest is for the log. */
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
      return await tool.run(params.arguments ?? {}, { signal: context.mcpReq.signal, progress: progressOf(context) })
    } catch (cause) {
      if (context.mcpReq.signal.aborted) throw cause
      return refused(inWords(describeError(cause, logger)))
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
      const values = found.slice(0, mostCompletions)
      return { completion: { values, total: found.length, hasMore: found.length > values.length } }
    }),
  )
  return server
}

/** Numbers that only grow, as the protocol wants; nobody knows how many there will be. */
function progressOf({ mcpReq }: ServerContext): (message: string) => void {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return () => undefined
  let progress = 0
  return (message) => {
    progress += 1
    const params = { progressToken, progress, message }
    // A client that has gone hears no more of it.
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined)
  }
}

/** There is no header here that says when to come again. */
function inWords({ message, retryAfterSeconds }: FamiliarError): string {
  return retryAfterSeconds === undefined ? message : `${message}. Try again in ${retryAfterSeconds} seconds.`
}
