import { createMcpHandler, isLegacyRequest, type McpHttpHandler, type Server } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Clock } from '../../../base/clock.ts'
import type { Logger } from '../../../base/logger.ts'
import { redactStored } from '../../../secrets/redact-json.ts'
import type { Redactor } from '../../../secrets/redactor.ts'
import type { ChangeFeed } from '../change-feed.ts'
import type { McpSubscriptions } from '../create-mcp-server.ts'
import type { McpCaller } from '../mcp-caller.ts'
import type { McpEndpoint } from './mcp-endpoint.ts'
import { createMcpSessions } from './mcp-sessions.ts'
import { redactEvents } from './redact-events.ts'
import { refusal } from './refusal.ts'
import { whenBodyEnds } from './when-body-ends.ts'

const mostSubscriptions = 200
const mostListeners = 128

export function createMcpEndpoint(dependencies: {
  serve(caller: McpCaller, subscriptions: McpSubscriptions): Server
  feed: ChangeFeed
  redactor?: Pick<Redactor, 'redact'> | undefined
  clock: Clock
  logger: Logger
}): McpEndpoint {
  const { serve, feed, redactor, clock, logger } = dependencies
  const sessions = createMcpSessions({ serve, feed, clock })
  // One for each user: whoever listens there hears of what is theirs.
  const handlers = new Map<string, McpHttpHandler>()
  const callers = new WeakMap<Request, McpCaller>()

  function handlerOf(userId: string): McpHttpHandler {
    const known = handlers.get(userId)
    if (known) return known
    const handler = createMcpHandler(
      ({ requestInfo }) => {
        const caller = requestInfo && callers.get(requestInfo)
        if (!caller) throw new Error('A request that nobody checked reached the MCP server')
        return serve(caller, noSubscriptions)
      },
      {
        legacy: 'reject',
        bus: feed.busOf(userId),
        maxSubscriptions: mostListeners,
        onerror: (error) => logger.debug('an MCP request was refused', { error }),
      },
    )
    handlers.set(userId, handler)
    return handler
  }

  async function answerModern(request: Request, caller: McpCaller, body: unknown): Promise<Response> {
    callers.set(request, caller)
    const listen = listenSchema.safeParse(body)
    const uris = listen.success ? (listen.data.params.notifications.resourceSubscriptions ?? []) : []
    if (uris.length > mostSubscriptions) {
      return refusal(400, -32_602, `A stream follows ${mostSubscriptions} resources at most`)
    }
    const followed = await Promise.all(uris.map((uri) => feed.follow(caller.userId, uri)))
    const letGo = () => {
      for (const end of followed) end()
    }
    try {
      const response = await handlerOf(caller.userId).fetch(request, { parsedBody: body })
      return followed.length > 0 ? whenBodyEnds(response, letGo) : response
    } catch (cause) {
      letGo()
      throw cause
    }
  }

  async function answerLegacy(request: Request, caller: McpCaller, body: unknown): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id === null && !isInitialize(body)) return refusal(400, -32_000, 'The header Mcp-Session-Id is required')
    const session = id === null ? await sessions.open(caller) : sessions.find(id, caller)
    if (!session) return refusal(404, -32_001, 'Session not found')
    const done = session.use()
    try {
      const options = body === undefined ? {} : { parsedBody: body }
      const response = await session.transport.handleRequest(request, options)
      // One that did not come about is not kept.
      if (id === null && !response.ok) await session.end()
      return whenBodyEnds(response, done)
    } catch (cause) {
      done()
      throw cause
    }
  }

  return {
    async handle(request, { caller, body }) {
      const isLegacy = request.method !== 'POST' || (await isLegacyRequest(request, body))
      const response = await (isLegacy ? answerLegacy : answerModern)(request, caller, body)
      return redactor ? cleaned(response, redactor) : response
    },
    async close() {
      feed.close()
      await Promise.all([sessions.endAll(), ...[...handlers.values()].map((handler) => handler.close())])
    },
  }
}

/** Whatever is said here, in one piece or in a stream, passes the redactor (SEC-13). */
async function cleaned(response: Response, redactor: Pick<Redactor, 'redact'>): Promise<Response> {
  const { status, headers, body } = response
  if (!body) return response
  if (!headers.get('content-type')?.startsWith('text/event-stream')) {
    return new Response(redactStored(redactor, await response.text()), { status, headers })
  }
  return new Response(body.pipeThrough(redactEvents(redactor)), { status, headers })
}

const listenSchema = z.object({
  method: z.literal('subscriptions/listen'),
  params: z.object({
    notifications: z.object({ resourceSubscriptions: z.array(z.string()).optional() }),
  }),
})
const initializeSchema = z.object({ method: z.literal('initialize'), id: z.union([z.string(), z.number()]) })

function isInitialize(body: unknown): boolean {
  return initializeSchema.safeParse(body).success
}

/** Clients of the newer generation say what they want to hear with the stream that they hear it on. */
const noSubscriptions: McpSubscriptions = { add: async () => undefined, remove: () => undefined }
