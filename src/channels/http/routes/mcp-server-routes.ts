import { z } from 'zod'
import { parseAnyJson } from '../../../base/json.ts'
import { tokenScopeSchema } from '../../../protocol/token-api.ts'
import type { McpEndpoint } from '../../mcp/http/mcp-endpoint.ts'
import { refusal } from '../../mcp/http/refusal.ts'
import { whenBodyEnds } from '../../mcp/http/when-body-ends.ts'
import { callerFrom } from '../../mcp/mcp-caller.ts'
import { readLimitedText } from '../guards/body-size-guard.ts'
import { callerOf } from '../guards/token-guard.ts'
import type { HttpContext, HttpSettings } from '../http-dependencies.ts'
import { commonHeaders } from '../json-reply.ts'
import type { OpenStreams } from '../open-streams.ts'
import { defineRoute, type Route } from '../route.ts'

const path = '/mcp'
const jsonType = 'application/json'

/** Familiar as a server of the Model Context Protocol. What a token's scope allows is decided tool by tool there. */
export function createMcpServerRoutes(
  endpoint: Pick<McpEndpoint, 'handle'>,
  { settings, streams }: { settings: Pick<HttpSettings, 'maxBodyBytes'>; streams: Pick<OpenStreams, 'open'> },
): Route[] {
  async function answer(context: HttpContext, body?: unknown): Promise<Response> {
    const wanted = tokenScopeSchema.safeParse(context.req.header('familiar-scope')).data
    const caller = callerFrom(callerOf(context), wanted)
    const asked = () => endpoint.handle(context.req.raw, { caller, body })
    const response = await (lasts(context, body) ? inStream(caller.userId, asked) : asked())
    const headers = new Headers(response.headers)
    for (const [name, value] of Object.entries(commonHeaders)) headers.set(name, value)
    return new Response(response.body, { status: response.status, headers })
  }

  /** Counted among all that watch something. */
  async function inStream(userId: string, asked: () => Promise<Response>): Promise<Response> {
    const { release } = streams.open(userId)
    try {
      return whenBodyEnds(await asked(), release)
    } catch (cause) {
      release()
      throw cause
    }
  }

  const common = { path, auth: 'token', scope: 'read' } as const
  return [
    defineRoute({
      ...common,
      method: 'POST',
      summary: 'The Model Context Protocol, of both generations: one message of JSON-RPC.',
      rawBody: { mediaTypes: [jsonType], maxBytes: settings.maxBodyBytes },
      reply: { status: 200, events: true, mediaTypes: [jsonType] },
      async handle({ context }) {
        const parsed = parseAnyJson(await readLimitedText(context, settings.maxBodyBytes))
        return parsed.ok ? answer(context, parsed.value) : refusal(400, -32_700, 'Parse error: the body is not JSON')
      },
    }),
    defineRoute({
      ...common,
      method: 'GET',
      summary: 'What an MCP session of the older generation is told without having asked; resumes from Last-Event-ID.',
      reply: { status: 200, events: true },
      handle: ({ context }) => answer(context),
    }),
    defineRoute({
      ...common,
      method: 'DELETE',
      summary: 'End an MCP session of the older generation.',
      reply: { status: 200 },
      handle: ({ context }) => answer(context),
    }),
  ]
}

function lasts({ req }: HttpContext, body: unknown): boolean {
  return req.method === 'GET' || listenSchema.safeParse(body).success
}

const listenSchema = z.object({ method: z.literal('subscriptions/listen') })
