import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { parseAnyJson, parseJson } from '../../base/json.ts'
import { readEventStream } from '../../base/server-sent-events.ts'
import { readDaemonInfo } from '../../daemon/daemon-lock.ts'
import type { TokenScope } from '../../security/tokens.ts'
import { createLineReader } from '../../tools/mcp/connect-server.ts'
import { type CommandContext, CommandError, type CommandHandler, messageOf } from '../command.ts'
import { type Connection, connect, readBody, readResponseText, sendRequest } from '../connect.ts'

const maxMessageBytes = 10 * 1024 * 1024
/** Time for open requests after the client closed its end. */
const lastAnswersMs = 1_000
/** A daemon that is restarted is given the home first. */
const restartMs = 10_000
const serveMcpPauseMs = 200

/** MCP clients are configured with `familiar mcp` and have a pipe; at a terminal it lists the servers instead. */
export const listOrServe: CommandHandler<{ scope?: TokenScope }> = async (context, input) => {
  if (!context.stdin.isTTY) return serveMcp(context, input)
  return (await import('./mcp.ts')).listServers(context, input)
}

/** Familiar as an MCP server on standard input and output. Only messages are written there. */
export const serveMcp: CommandHandler<{ scope?: TokenScope }> = async (context, { scope }) => {
  const { stdin, stdout, stderr, signal } = context
  const connections: Connection[] = []
  const bridge = createMcpBridge({
    reach: () => reach(context, connections),
    untilBack: (ending) => untilServed(context, ending),
    write: (line) => void stdout.write(`${line}\n`),
    note: (line) => void stderr.write(`${line}\n`),
    scope,
  })
  try {
    await Promise.race([readLines(stdin, bridge.take), aborted(signal)])
    if (!signal.aborted) await Promise.race([bridge.settled(), wait(lastAnswersMs, undefined, { ref: false })])
  } finally {
    await bridge.end()
    for (const connection of connections) await connection.close()
  }
  return undefined
}

/** The running daemon, or one inside this process. A daemon that stopped may be restarting. */
async function reach(context: CommandContext, connections: Connection[]): Promise<McpPlace> {
  const isAgain = connections.length > 0
  if (isAgain) await untilServed(context, AbortSignal.timeout(restartMs)).catch(() => undefined)
  connections.push(await connect(context, { talks: true }))
  const place = readDaemonInfo(context.homePath)
  if (!place) throw new CommandError('Familiar stopped.', { code: 'unreachable' })
  return place
}

async function untilServed({ homePath, signal }: CommandContext, ending: AbortSignal): Promise<void> {
  const either = AbortSignal.any([signal, ending])
  while (!readDaemonInfo(homePath)) await wait(serveMcpPauseMs, undefined, { signal: either })
}

async function readLines(stdin: NodeJS.ReadStream, take: (line: string) => void): Promise<void> {
  const reader = createLineReader()
  for await (const chunk of stdin) {
    for (const line of reader.take(Buffer.from(chunk))) take(line)
    if (reader.waiting() > maxMessageBytes) {
      throw new CommandError('A message of the client is larger than 10 MB.', { code: 'payload_too_large' })
    }
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort')
}

type Answer = Awaited<ReturnType<typeof sendRequest>>

/** The address of Familiar and the credential of this machine's command line. */
interface McpPlace {
  url: string
  credential: string
}

/** The reply: JSON texts, one per message, as they arrive. */
interface McpReply {
  status: number
  sessionId: string | undefined
  /** The id is the place in the stream; empty if there is none. */
  messages: AsyncIterable<{ id: string; text: string }>
}

/** One request to `/mcp`. Rejects if there is no answer. */
async function askMcp(
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
  const text = await readResponseText(response, url)
  if (text !== '') yield { id: '', text }
}

/** The request was not received, so it can be sent again. After a later break it may have been read. */
function wasNotTaken(error: unknown): boolean {
  const cause = error instanceof CommandError ? error.cause : undefined
  return cause instanceof Error && 'code' in cause && cause.code === 'ECONNREFUSED'
}

/** One message of JSON-RPC as a client wrote it, with the parts that the bridge needs. */
interface McpMessage {
  /** Of a request; undefined for what wants no answer, and for a batch. */
  id: string | number | undefined
  method: string | undefined
  /** Undefined for a batch. */
  params: Readonly<Record<string, unknown>>
  /** The revision that a client of the newer generation names in every request. */
  revision: string | undefined
  /** Sent unchanged. */
  text: string
}

const versionKey = 'io.modelcontextprotocol/protocolVersion'
const messageSchema = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.looseObject({ _meta: z.looseObject({ [versionKey]: z.string().optional() }).optional() }).optional(),
})

/** Undefined for text that is not JSON. Familiar checks the meaning. */
export function readMessage(line: string): McpMessage | undefined {
  const parsed = parseAnyJson(line)
  if (!parsed.ok) return undefined
  const text = JSON.stringify(parsed.value)
  const { data } = messageSchema.safeParse(parsed.value)
  if (!data) return { id: undefined, method: undefined, params: {}, revision: undefined, text }
  const { id, method, params = {} } = data
  const revision = params._meta?.[versionKey]
  return { id: method === undefined ? undefined : id, method, params, revision, text }
}

/** Headers that a newer client sends if it speaks HTTP itself. */
export function headersOf({ method, params, revision }: McpMessage): Record<string, string> {
  if (revision === undefined || method === undefined) return {}
  const named = method === 'resources/read' ? params.uri : params.name
  const hasName = nameMethods.includes(method) && typeof named === 'string'
  return {
    'mcp-protocol-version': headerText(revision),
    'mcp-method': headerText(method),
    ...(hasName && { 'mcp-name': headerText(named) }),
  }
}

const nameMethods = ['tools/call', 'prompts/get', 'resources/read']
const plain = /^[\x21-\x7e]+$/

/** A header takes no more than this; the rest is written as the protocol says. */
function headerText(text: string): string {
  if (plain.test(text) && !text.startsWith('=?')) return text
  return `=?base64?${Buffer.from(text).toString('base64')}?=`
}

const pauseMs = 500
const endMs = 500

/** The session of an older client, to be set up again after a restart. */
interface Setup {
  initialize: McpMessage
  isReady: boolean
  subscribed: Set<string>
}

interface Session {
  id: string
  version: string | undefined
}

export type McpBridge = ReturnType<typeof createMcpBridge>

/** Carries messages between a client's pipes and Familiar's `/mcp`, and reconnects after a restart. */
export function createMcpBridge(options: {
  /** The Familiar that answers now; asked again when one has gone. */
  reach(): Promise<McpPlace>
  /** Resolves when a Familiar runs again. Starts none, since there is no request. */
  untilBack(signal: AbortSignal): Promise<void>
  /** A line to the client. */
  write(line: string): void
  /** Writes a diagnostic line. */
  note(line: string): void
  scope: TokenScope | undefined
}) {
  const { reach, write, note, scope } = options
  const ending = new AbortController()
  const working = new Set<Promise<void>>()
  const modern = new Map<string | number, AbortController>()
  let place: Promise<McpPlace> | undefined
  let setup: Setup | undefined
  let session: Session | undefined
  let renewal: Promise<void> | undefined
  /** Messages of the older generation arrive in the order in which they were written. */
  let line: Promise<unknown> = Promise.resolve()

  async function post(message: Pick<McpMessage, 'text'>, headers: Record<string, string>, signal: AbortSignal) {
    return await askMcp(await where(), { method: 'POST', headers, scope, body: message.text, signal })
  }

  function where(): Promise<McpPlace> {
    place ??= reach().catch((error: unknown) => {
      place = undefined
      throw error
    })
    return place
  }

  const sessionHeaders = (): Record<string, string> => ({
    ...(session && { 'mcp-session-id': session.id }),
    ...(session?.version !== undefined && { 'mcp-protocol-version': session.version }),
  })

  /** Repeats a request that was not received, or whose session is unknown. */
  async function persistently(ask: () => Promise<McpReply>): Promise<McpReply> {
    try {
      const reply = await ask()
      if (reply.status !== 401 && !(reply.status === 404 && session)) return reply
    } catch (error) {
      if (!wasNotTaken(error)) throw error
    }
    await renew()
    return await ask()
  }

  function renew(): Promise<void> {
    renewal ??= reconnect().finally(() => {
      renewal = undefined
    })
    return renewal
  }

  async function reconnect(): Promise<void> {
    note('Familiar was restarted; reconnecting')
    place = undefined
    session = undefined
    if (!setup) return
    const { signal } = ending
    const reply = await post(setup.initialize, {}, signal)
    if (reply.status !== 200 || reply.sessionId === undefined) throw new Error(`Familiar answered ${reply.status}`)
    session = { id: reply.sessionId, version: undefined }
    for await (const { text } of reply.messages) session.version = versionIn(text) ?? session.version
    if (!setup.isReady) return
    await drain(await post({ text: initialized }, sessionHeaders(), signal))
    for (const uri of setup.subscribed) {
      const request = { jsonrpc: '2.0', id: `again ${uri}`, method: 'resources/subscribe', params: { uri } }
      await drain(await post({ text: JSON.stringify(request) }, sessionHeaders(), signal))
    }
    listen()
  }

  /** Notifications of Familiar, as long as the session lasts. */
  function listen(): void {
    const mine = session
    let last = ''
    const read = async (): Promise<void> => {
      while (mine && session === mine && !ending.signal.aborted) {
        try {
          const headers = { ...sessionHeaders(), ...(last !== '' && { 'last-event-id': last }) }
          const reply = await askMcp(await where(), { method: 'GET', headers, scope, signal: ending.signal })
          if (reply.status === 200) {
            for await (const { id, text } of reply.messages) {
              last = id
              write(text)
            }
          } else {
            await drain(reply)
            if (reply.status === 401 || reply.status === 404) return await renew()
            last = ''
          }
        } catch (error) {
          if (ending.signal.aborted) return
          if (wasNotTaken(error)) {
            await options.untilBack(ending.signal)
            return session === mine ? await renew() : undefined
          }
        }
        await wait(pauseMs, undefined, { signal: ending.signal })
      }
    }
    read().catch((error: unknown) => {
      if (!ending.signal.aborted) note(`notifications have ended: ${String(error)}`)
    })
  }

  async function sendOlder(message: McpMessage): Promise<void> {
    const { method, params } = message
    if (method === 'initialize') {
      session = undefined
      setup = undefined
    }
    const reply = await persistently(() => post(message, sessionHeaders(), ending.signal))
    if (method === 'initialize' && reply.sessionId !== undefined) {
      session = { id: reply.sessionId, version: undefined }
      setup = { initialize: message, isReady: false, subscribed: new Set() }
    }
    if (setup && reply.status < 400 && typeof params.uri === 'string') {
      if (method === 'resources/subscribe') setup.subscribed.add(params.uri)
      if (method === 'resources/unsubscribe') setup.subscribed.delete(params.uri)
    }
    if (setup && method === 'notifications/initialized' && reply.status < 400) {
      setup.isReady = true
      listen()
    }
    track(message, tell(message, reply))
  }

  async function sendNewer(message: McpMessage): Promise<void> {
    const stop = new AbortController()
    const { id } = message
    if (id !== undefined) modern.set(id, stop)
    try {
      const signal = AbortSignal.any([stop.signal, ending.signal])
      await tell(message, await persistently(() => post(message, headersOf(message), signal)))
    } catch (error) {
      if (!stop.signal.aborted) throw error
    } finally {
      if (id !== undefined && modern.get(id) === stop) modern.delete(id)
    }
  }

  /** Passes replies on, and answers with an error if there are none. */
  async function tell({ id, method }: McpMessage, reply: McpReply): Promise<void> {
    let isAnswered = id === undefined || (reply.status >= 200 && reply.status < 300 && reply.status !== 200)
    for await (const { text } of reply.messages) {
      const parsed = parseJson(text, answerSchema)
      const answer = parsed.ok ? parsed.value : undefined
      if (method === 'initialize' && session) session.version = versionIn(text) ?? session.version
      if (reply.status < 400) {
        isAnswered ||= answer?.id === id
        write(text)
      } else if (id !== undefined) {
        isAnswered = true
        fail(id, answer?.error)
      }
    }
    if (!isAnswered && id !== undefined) fail(id, 'Familiar stopped before it answered.')
  }

  function fail(id: string | number | null, error: unknown): void {
    const known = errorSchema.safeParse(error)
    const said = typeof error === 'string' ? error : 'Familiar refused this.'
    write(JSON.stringify({ jsonrpc: '2.0', id, error: known.data ?? { code: -32_603, message: said } }))
  }

  function track(message: McpMessage, work: Promise<void>): void {
    const done = work
      .catch((error: unknown) => {
        if (ending.signal.aborted) return
        const said = messageOf(error)
        note(said)
        if (message.id !== undefined) fail(message.id, said)
      })
      .finally(() => working.delete(done))
    working.add(done)
  }

  return {
    /** One line of the client. The replies are written as they arrive. */
    take(written: string) {
      if (written.trim() === '') return
      const message = readMessage(written)
      if (!message) return write(parseError)
      const cancelled = message.method === 'notifications/cancelled' ? message.params.requestId : undefined
      const running = modern.get(cancelled as string | number)
      if (running) return running.abort()
      if (message.revision !== undefined) return track(message, sendNewer(message))
      const sent = line.then(() => sendOlder(message))
      line = sent.catch(() => undefined)
      track(message, sent)
    },
    /** Resolves when every accepted message is answered. */
    async settled(): Promise<void> {
      while (working.size > 0) await Promise.allSettled(working)
    },
    /** Closes the session. */
    async end(): Promise<void> {
      ending.abort()
      if (!session || !place) return
      const signal = AbortSignal.timeout(endMs)
      await askMcp(await place, { method: 'DELETE', headers: sessionHeaders(), scope, signal })
        .then(drain)
        .catch(() => undefined)
    },
  }
}

async function drain(reply: McpReply): Promise<void> {
  for await (const _ of reply.messages);
}

function versionIn(text: string): string | undefined {
  const parsed = parseJson(text, z.object({ result: z.object({ protocolVersion: z.string() }) }))
  return parsed.ok ? parsed.value.result.protocolVersion : undefined
}

const errorSchema = z.object({ code: z.number(), message: z.string() })
const answerSchema = z.looseObject({ id: z.union([z.string(), z.number()]).nullish(), error: z.unknown().optional() })
const initialized = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
const parseError = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_700, message: 'Parse error' } })
