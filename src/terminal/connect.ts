import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { parseAnyJson, parseJson } from '../base/json.ts'
import { readEventStream, type ServerSentEvent } from '../base/server-sent-events.ts'
import { formatProblems } from '../daemon/config/config.ts'
import type { StartResult } from '../daemon/daemon.ts'
import { readDaemonInfo } from '../daemon/daemon-lock.ts'
import {
  chat,
  errorReplySchema,
  type HistoryEvent,
  type MessageRequestInput,
  type SessionReply,
  sessions,
} from '../protocol/api.ts'
import type { StreamedEvent, TurnEvent } from '../protocol/events.ts'
import { type Operation, type PathParameters, parseWire, type Wire, wireName } from '../protocol/operation.ts'
import { type CommandContext, CommandError, type CommandHandler, exitCodes, interrupted } from './command.ts'
import type { Output, Shown } from './output.ts'

/** A connection to a running Familiar. */
export interface Connection {
  client: ApiClient
  /** The daemon of this home; undefined if Familiar runs inside this process for the time of the command. */
  daemon: { pid: number; url: string } | undefined
  close(): Promise<void>
}

export interface ConnectOptions {
  /** A message is sent: a Familiar inside this process also resumes interrupted turns. */
  talks?: boolean
  /** The work ends by itself on Ctrl-C. Otherwise it is abandoned. */
  endsOnAbort?: boolean
  /** It is not retried after a lost connection, because it may have been done. */
  once?: boolean
}

/** For work that must not be done a second time. */
export const once: ConnectOptions = { once: true }

// Another short command may hold the home for a moment.
const patienceMs = 5_000
const pauseMs = 100
// With growing pauses: a Familiar that stops finishes its background work before it releases the home.
const maxAttempts = 10

/** The running daemon of this home or, if there is none, one inside this process. The API is the same. */
export async function connect(context: CommandContext, { talks = false }: ConnectOptions = {}): Promise<Connection> {
  const { homePath: home, env, signal } = context
  const deadline = performance.now() + patienceMs
  for (;;) {
    const info = readDaemonInfo(home)
    if (info) return { client: createApiClient(info), daemon: info, close: async () => undefined }
    const { startDaemon } = await import('../daemon/daemon.ts')
    const started = await startDaemon({ home, env, port: 0, host: '127.0.0.1', recover: talks, makeToken: false })
    if (started.ok) {
      const { daemon } = started
      // Interrupted work resumes from its last step when Familiar runs again.
      const close = () => daemon.close(signal.aborted ? 1_000 : 5_000)
      return { client: createApiClient(daemon), daemon: undefined, close }
    }
    if (started.reason !== 'locked') throw startFailure(started, home)
    if (performance.now() >= deadline) throw heldBy(started, home)
    await wait(pauseMs, undefined, { signal })
  }
}

/**
 * Connects, works and closes. If that Familiar stops meanwhile (it may run inside another command), the work is retried on
 * another one, so it must be repeatable.
 */
export async function withFamiliar<T>(
  context: CommandContext,
  work: (client: ApiClient, connection: Connection) => Promise<T>,
  options: ConnectOptions = {},
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const connection = await connect(context, options)
    try {
      const working = work(connection.client, connection)
      return await (options.endsOnAbort || options.once
        ? working
        : Promise.race([working, untilAborted(context.signal)]))
    } catch (error) {
      if (options.once || !connection.daemon || attempt === maxAttempts || context.signal.aborted || !isGone(error))
        throw error
      await wait(pauseMs * attempt)
    } finally {
      await connection.close()
    }
  }
}

/** `withFamiliar` for the operations of one feature. */
export function withApi<Group extends Record<string, Operation>, T>(
  context: CommandContext,
  group: Group,
  work: (api: Api<Group>, connection: Connection) => Promise<T>,
  options?: ConnectOptions,
): Promise<T> {
  return withFamiliar(context, ({ api }, connection) => work(api(group), connection), options)
}

/**
 * A command that asks Familiar and prints the reply: as JSON, or for people as `show` returns or prints it. `isServed` is
 * false if Familiar runs only inside this command.
 */
export function apiCommand<Group extends Record<string, Operation>, Input extends object, Reply>(
  group: Group,
  work: (api: Api<Group>, input: Input, connection: Connection) => Promise<Reply>,
  show: (reply: Reply, output: Output, input: Input, isServed: boolean) => Shown | undefined,
  options?: ConnectOptions,
): CommandHandler<Input> {
  return async (context, input) => {
    const { output } = context
    const asked = async (api: Api<Group>, connection: Connection) => {
      return { reply: await work(api, input, connection), isServed: connection.daemon !== undefined }
    }
    const { reply, isServed } = await withApi(context, group, asked, options)
    return output.report(input.json, reply, () => show(reply, output, input, isServed))
  }
}

/** The reason why Familiar did not start, as an error of the command. */
export function startFailure(failure: Extract<StartResult, { ok: false }>, home: string): CommandError {
  switch (failure.reason) {
    case 'config': {
      const lines = formatProblems(failure.problems, home).map((line) => `  ${line}`)
      const title = `The configuration in ${home} has ${lines.length === 1 ? 'a problem' : `${lines.length} problems`}:`
      return new CommandError([title, ...lines].join('\n'), { code: 'config', hint: 'Fix it and try again.' })
    }
    case 'locked':
      return heldBy(failure, home)
    default:
      // Scripts know the one code for both.
      return new CommandError(failure.message, {
        code: failure.reason === 'unreachable' ? 'database' : failure.reason,
        hint: failure.hint,
      })
  }
}

function heldBy(holder: { pid: number | null }, home: string): CommandError {
  const who = holder.pid === null ? 'Another process' : `Process ${holder.pid}`
  return new CommandError(`${who} holds ${home} and does not answer yet.`, {
    exitCode: exitCodes.unreachable,
    code: 'locked',
    hint: holder.pid === null ? 'Try again in a moment.' : `Try again in a moment, or end it: kill ${holder.pid}`,
  })
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(interrupted())
    signal.addEventListener('abort', () => reject(interrupted()), { once: true })
  })
}

/** Familiar does not respond any more, or reports that it stops. */
export function isGone(error: unknown): boolean {
  return error instanceof CommandError && (error.code === 'unreachable' || error.code === 'unavailable')
}

const apiBase = '/api/v1'

type RequestBody = string | AsyncIterable<Uint8Array>

/**
 * One request to a Familiar on this machine. Rejects with exit code 3 if there is no response or the connection is lost.
 * Not `fetch`: it times out after five minutes, and a turn may take an hour.
 */
export async function sendRequest(options: {
  url: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  headers: Record<string, string>
  body?: RequestBody | undefined
  signal?: AbortSignal | undefined
}): Promise<IncomingMessage> {
  const { url, method, headers, body, signal } = options
  return new Promise((resolve, reject) => {
    // A new connection each time: one that is kept open would delay the end of a Familiar in this process.
    const outgoing = request(url, { method, headers, agent: false, ...(signal && { signal }) })
    outgoing.once('response', resolve)
    outgoing.once('error', (cause) => reject(signal?.aborted ? cause : unreachable(url, cause)))
    if (typeof body !== 'object') outgoing.end(body)
    else {
      sendBody(outgoing, body).catch((cause) => {
        reject(cause)
        outgoing.destroy()
      })
    }
  })
}

/** No faster than the server reads. A server that has responded may read no more. */
async function sendBody(outgoing: ClientRequest, body: AsyncIterable<Uint8Array>): Promise<void> {
  // Two listeners for the whole body: a pair for every chunk would pile up on the request.
  let resume = () => {}
  outgoing.on('drain', () => resume())
  outgoing.on('close', () => resume())
  for await (const chunk of body) {
    if (outgoing.destroyed) return
    const taken = new Promise<void>((resolve) => {
      resume = resolve
    })
    if (!outgoing.write(chunk)) await taken
  }
  outgoing.end()
}

/** The bytes of a response as they arrive. A lost connection is reported like one that was refused. */
export async function* readBody(response: IncomingMessage, url: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response) yield chunk as Uint8Array
  } catch (cause) {
    throw cause instanceof Error && cause.name === 'AbortError' ? cause : unreachable(url, cause)
  }
}

export async function readResponseText(response: IncomingMessage, url: string): Promise<string> {
  return Buffer.concat(await Array.fromAsync(readBody(response, url))).toString()
}

function unreachable(url: string, cause: unknown): CommandError {
  const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause)
  return new CommandError(`Familiar at ${new URL(url).origin} does not answer (${reason}).`, {
    exitCode: exitCodes.unreachable,
    code: 'unreachable',
    hint: 'If it has just been stopped or is starting, try again; "familiar doctor" says what is wrong.',
    cause,
  })
}

interface ApiRequest {
  /** By default POST with a body, otherwise GET. */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Sent as JSON. */
  body?: unknown
  /** In place of `body`: sent unchanged. */
  raw?: { mediaType: string; data: RequestBody }
  signal?: AbortSignal | undefined
  /** Called with the headers of a stream before its first event. */
  onHeaders?: (headers: IncomingHttpHeaders) => void
}

type ApiTransport = ReturnType<typeof createApiTransport>

/** Requests to Familiar's HTTP API. An error reply is thrown as a `CommandError` with its message. */
function createApiTransport(options: { url: string; credential: string }) {
  const base = `${reachable(options.url)}${apiBase}`

  function send(path: string, request: ApiRequest, accept: string): Promise<IncomingMessage> {
    const { body, raw, signal } = request
    const data = raw?.data ?? (body === undefined ? undefined : JSON.stringify(body))
    return sendRequest({
      url: `${base}${path}`,
      method: methodOf(request),
      headers: {
        authorization: `Bearer ${options.credential}`,
        accept,
        ...(data !== undefined && { 'content-type': raw?.mediaType ?? 'application/json' }),
      },
      body: data,
      signal,
    })
  }

  async function open(path: string, request: ApiRequest, accept: string): Promise<IncomingMessage> {
    const response = await send(path, request, accept)
    if (response.statusCode !== 200) throw refusal(response, await readResponseText(response, base))
    return response
  }

  async function ask<Schema extends z.ZodType>(
    path: string,
    schema: Schema,
    request: ApiRequest = {},
  ): Promise<Wire<Schema>> {
    const response = await send(path, request, 'application/json')
    if (response.statusCode === 429 && methodOf(request) === 'GET') {
      // Reading a long log page by page exceeds the rate limit.
      response.resume()
      const { signal } = request
      await wait(Math.min(60, Number(response.headers['retry-after'] ?? 1)) * 1_000, undefined, signal && { signal })
      return ask(path, schema, request)
    }
    const text = await readResponseText(response, base)
    if (response.statusCode !== undefined && response.statusCode >= 400) throw refusal(response, text)
    return understood(path, text, schema)
  }

  return {
    base,
    ask,
    /** The events of a stream to its end. An error event is thrown. */
    async *events(path: string, request: ApiRequest = {}): AsyncGenerator<ServerSentEvent> {
      const response = await open(path, request, 'text/event-stream')
      request.onHeaders?.(response.headers)
      for await (const event of readEventStream(readBody(response, base))) {
        if (event.type === 'error') throw refusal(response, event.data)
        yield event
      }
    },
    async *bytes(path: string, request: ApiRequest = {}): AsyncGenerator<Uint8Array> {
      yield* readBody(await open(path, request, '*/*'), base)
    },
  }
}

function methodOf({ method, body, raw }: ApiRequest): NonNullable<ApiRequest['method']> {
  return method ?? (body === undefined && raw === undefined ? 'GET' : 'POST')
}

function understood<Schema extends z.ZodType>(path: string, text: string, schema: Schema): Wire<Schema> {
  const parsed = parseAnyJson(text)
  if (!parsed.ok) throw notUnderstood(path, parsed.message)
  try {
    return parseWire(schema, parsed.value)
  } catch (cause) {
    if (!(cause instanceof z.ZodError)) throw cause
    const [issue] = cause.issues
    throw notUnderstood(path, `${issue?.path.join('.') || 'value'}: ${issue?.message ?? 'is not valid'}`)
  }
}

/** A reply of another version, perhaps. */
export function notUnderstood(path: string, problem: string): CommandError {
  return new CommandError(`Familiar's answer to ${path} was not understood: ${problem}`, {
    code: 'internal',
    hint: 'The daemon may be of another version. Restart it.',
  })
}

/** An address for all interfaces is for listening, not for calling. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:').replace(/\/$/, '')
}

function refusal(response: IncomingMessage, text: string): CommandError {
  const parsed = parseJson(text, errorReplySchema)
  if (!parsed.ok) {
    return new CommandError(`Familiar answered with ${response.statusCode} and no reason.`, { code: 'internal' })
  }
  const { error, code, request_id } = parsed.value
  const exitCode = code === 'bad_request' ? exitCodes.usage : exitCodes.failed
  return new CommandError(error, { exitCode, code, hint: hintFor(code, request_id) })
}

function hintFor(code: string, requestId: string | undefined): string | undefined {
  if (code === 'unauthorized') return 'The daemon was started with another credential. Restart it.'
  return requestId ? `Look for ${requestId} in the log directory of the home.` : undefined
}

export type ApiClient = ReturnType<typeof createApiClient>

/** Work that reports its progress, and stops with its signal. */
export interface Watched<Progress> {
  signal: AbortSignal
  onProgress(progress: Progress): void
}

/** The input of an operation: the parameters of its path, query and body together, with their names on the wire. */
type Input<Of extends Operation> = PathParameters<Of['path']> &
  (Of['query'] extends z.ZodType ? Wire<Of['query']> : unknown) &
  (Of['body'] extends z.ZodRecord
    ? { body: Wire<Of['body']> }
    : Of['body'] extends z.ZodType
      ? Fields<Of['body']>
      : unknown) &
  (Of['rawBody'] extends object ? { data: RequestBody } : unknown)

type Fields<Body extends z.ZodType> = [Wire<Body>] extends [Record<string, never>] ? unknown : Wire<Body>

type Progress<Of extends Operation> = Of['progress'] extends z.ZodType ? Wire<Of['progress']> : never

export type Answer<Of extends Operation> = Of['reply'] extends z.ZodType ? Wire<Of['reply']> : undefined

/** The operations of a feature as functions. They return the reply as it is on the wire, which `--json` prints. */
export type Api<Group extends Record<string, Operation>> = {
  [Name in keyof Group]: (
    ...given: Record<never, never> extends Input<Group[Name]>
      ? [input?: Input<Group[Name]>, signal?: AbortSignal]
      : [input: Input<Group[Name]>, signal?: AbortSignal]
  ) => Promise<Answer<Group[Name]>>
}

/** The path and request of a call. */
function requestOf(operation: Operation, input: Record<string, unknown>): { path: string; request: ApiRequest } {
  const rest = { ...input }
  const take = (name: string) => {
    const value = rest[name]
    delete rest[name]
    return value
  }
  const path = operation.path
    .replace(apiBase, '')
    .replaceAll(/:(\w+)/g, (_, name) => encodeURIComponent(String(take(name))))
  const names = operation.query instanceof z.ZodObject ? Object.keys(operation.query.shape).map(wireName) : []
  const query = new URLSearchParams()
  for (const name of names) {
    const value = take(name)
    if (value !== undefined) query.set(name, String(value))
  }
  const body = operation.body instanceof z.ZodRecord ? rest.body : rest
  const { method, rawBody } = operation
  const raw = rawBody && { mediaType: rawBody.mediaTypes[0] ?? '', data: rest.data as RequestBody }
  return {
    path: query.size > 0 ? `${path}?${query}` : path,
    request: { method, ...(operation.body && { body }), ...(raw && { raw }) },
  }
}

/** Familiar's HTTP API, typed by its operations. An error reply is thrown as a `CommandError` with its message. */
export function createApiClient(options: { url: string; credential: string }) {
  const transport = createApiTransport(options)
  const { base, ask } = transport

  async function* stream(path: string, request: ApiRequest): AsyncGenerator<StreamedEvent> {
    for await (const { id, data } of transport.events(path, request)) {
      const parsed = parseJson(data, eventSchema)
      if (!parsed.ok) throw notUnderstood(path, parsed.message)
      yield { cursor: id, event: parsed.value as TurnEvent }
    }
  }

  return {
    transport,
    /** The operations of a feature as functions: `client.api(schedules).show({ id })`. */
    api<Group extends Record<string, Operation>>(group: Group): Api<Group> {
      const calls = Object.entries(group).map(([name, operation]) => [
        name,
        (input: Record<string, unknown> = {}, signal?: AbortSignal) => {
          const { path, request } = requestOf(operation, input)
          return ask(path, operation.reply ?? z.undefined(), { ...request, signal })
        },
      ])
      return Object.fromEntries(calls)
    },
    /** Calls an operation that reports its progress, and returns its reply. */
    watch<Of extends Operation>(operation: Of, input: Input<Of>, watched: Watched<Progress<Of>>): Promise<Answer<Of>> {
      const { path, request } = requestOf(operation, input as Record<string, unknown>)
      const schemas = { progress: operation.progress ?? z.never(), result: operation.reply ?? z.undefined() }
      return watchedResult(transport, { path, request, schemas, watched: watched as Watched<unknown> }) as never
    },
    /** The content of a reply that is not JSON. */
    bytes<Of extends Operation>(operation: Of, input: Input<Of>, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
      const { path, request } = requestOf(operation, input as Record<string, unknown>)
      return transport.bytes(path, { ...request, signal })
    },
    /** The events of a session from the cursor on, without end. */
    events(id: string, { after, signal }: { after?: string; signal: AbortSignal }): AsyncGenerator<StreamedEvent> {
      const { path, request } = requestOf(sessions.events, { id, after })
      return stream(path, { ...request, signal })
    },
    /** The events of the message's turn, to its end. */
    async *chatEvents(message: MessageRequestInput, signal?: AbortSignal): AsyncGenerator<StreamedEvent> {
      const { path, request } = requestOf(chat.send, message)
      for await (const streamed of stream(path, { ...request, signal })) {
        yield streamed
        if (streamed.event.type === 'turn_end') return
      }
      // A Familiar that stops ends its streams first.
      throw unreachable(base, 'it is stopping')
    },
  }
}

// The events are not checked further, so that a new kind of event does not break an older client.
const eventSchema = z.looseObject({ type: z.string() })

/** The channel of messages from the command line. */
export const cliChannel = 'cli'

/**
 * The session with this id, beginning of an id, or contact; contacts of the command line come first. Archived sessions are
 * found by id only, since a contact means its active session.
 */
export async function findSession(client: ApiClient, name: string): Promise<SessionReply> {
  const { sessions: all } = await client.api(sessions).list({ archived: 'true' })
  const active = all.filter((session) => session.state === 'active')
  const beginsWith = all.filter((session) => name.length >= 8 && session.id.startsWith(name))
  const found =
    all.find((session) => session.id === name) ??
    active.find((session) => session.contact === name && session.channel === cliChannel) ??
    active.find((session) => session.contact === name) ??
    (beginsWith.length === 1 ? beginsWith[0] : undefined)
  if (found) return found
  const known = [...new Set(active.map((session) => session.contact))].slice(0, 8)
  const others = `There are: ${known.join(', ')}. All of them: familiar sessions --all`
  throw new CommandError(`There is no session ${JSON.stringify(name)}.`, {
    code: 'not_found',
    hint: known.length > 0 ? others : 'There are no messages yet. Start with: familiar send "Hello"',
  })
}

/** Every event of the session after `after`, page by page. */
export async function* historyPages(
  client: ApiClient,
  sessionId: string,
  options: { full: boolean; after?: number },
): AsyncGenerator<HistoryEvent[]> {
  let after: number | null = options.after ?? 0
  while (after !== null) {
    const full = options.full ? 'true' : 'false'
    const page = await client.api(sessions).history({ id: sessionId, full, after, limit: 1_000 })
    yield page.events
    after = page.next_after
  }
}

/** The result at the end of a stream of progress. */
export async function watchedResult<Progress extends z.ZodType, Result extends z.ZodType>(
  { base, events }: ApiTransport,
  work: {
    path: string
    request: ApiRequest
    schemas: { progress: Progress; result: Result }
    watched: Watched<Wire<Progress>>
  },
): Promise<Wire<Result>> {
  const { path, request, schemas, watched } = work
  for await (const { type, data } of events(path, { ...request, signal: watched.signal })) {
    if (type === 'progress') watched.onProgress(understood(path, data, schemas.progress))
    else if (type === 'result') return understood(path, data, schemas.result)
  }
  // A Familiar that stops ends its streams first.
  throw unreachable(base, 'it is stopping')
}
