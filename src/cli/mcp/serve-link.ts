import type { TokenScope } from '../../policy/access-tokens.ts'
import { CommandError } from '../command-error.ts'
import { readEventStream } from '../event-stream.ts'
import { readBody, readText, sendRequest } from '../http-request.ts'

type Answer = Awaited<ReturnType<typeof sendRequest>>

/** Where Familiar answers now, and what the command line of this machine comes with. */
export interface McpPlace {
  url: string
  credential: string
}

/** What came back: texts of JSON, one for each message, as they come. */
export interface McpReply {
  status: number
  sessionId: string | undefined
  /** The id is the place in the stream; empty where there is none. */
  messages: AsyncIterable<{ id: string; text: string }>
}

/** One request to `/mcp`. Rejects where nobody answers. */
export async function askMcp(
  { url, credential }: McpPlace,
  request: {
    method: 'GET' | 'POST' | 'DELETE'
    headers: Record<string, string>
    scope: TokenScope | undefined
    body?: string
    signal: AbortSignal
  },
): Promise<McpReply> {
  const { method, headers, scope, body, signal } = request
  const response = await sendRequest({
    url: `${url}/mcp`,
    method,
    headers: {
      authorization: `Bearer ${credential}`,
      accept: method === 'GET' ? 'text/event-stream' : 'application/json, text/event-stream',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(scope && { 'familiar-scope': scope }),
      ...headers,
    },
    body,
    signal,
  })
  const sessionId = response.headers['mcp-session-id']
  return {
    status: response.statusCode ?? 0,
    sessionId: typeof sessionId === 'string' ? sessionId : undefined,
    messages: messagesOf(response, url),
  }
}

async function* messagesOf(response: Answer, url: string): AsyncGenerator<{ id: string; text: string }> {
  if (response.headers['content-type']?.startsWith('text/event-stream')) {
    // An event that only opens the stream says nothing.
    for await (const { id, data } of readEventStream(readBody(response, url))) if (data !== '') yield { id, text: data }
    return
  }
  const text = await readText(response, url)
  if (text !== '') yield { id: '', text }
}

/** Nobody took the request: it can be made again elsewhere. A line that broke later may have been read. */
export function wasNotTaken(error: unknown): boolean {
  const cause = error instanceof CommandError ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED'
}
