import { pathToFileURL } from 'node:url'
import type {
  AuthProvider,
  CallToolResult,
  Client,
  JSONRPCMessage,
  Progress,
  RequestOptions,
  StreamableHTTPClientTransport,
  Transport,
} from '@modelcontextprotocol/client'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { oneLine, reasonOf } from '../../base/text.ts'
import { untilAborted } from '../../base/work.ts'
import type { Json } from '../../protocol/messages.ts'
import type { AllowedHost } from '../../security/network/destinations.ts'
import { createGuardedFetch, type GuardedFetch, stayAtOrigin } from '../../security/network/guarded-fetch.ts'
import { type CallHost, RequestRefused } from './call-host.ts'
import {
  createClientAuth,
  createLoginAuth,
  createLoginFetch,
  hostsOf,
  LoginNeeded,
  LoginRefused,
  type McpLogins,
  readScopes,
  takesLogin,
} from './login.ts'
import { createOpenCalls } from './open-calls.ts'
import {
  createLineLimit,
  isProgram,
  type McpAddress,
  type McpServerSettings,
  type ServerProgram,
  startProgram,
} from './server-program.ts'

export type McpConnection = Awaited<ReturnType<typeof connectServer>>

export interface ConnectNeeds {
  environment: (name: string) => string | undefined
  workingDirectory: string
  /** Hosts of the owner's network that everything may reach. A server's own origin is added for that server only. */
  allowedHosts: () => readonly AllowedHost[]
  logins: Pick<McpLogins, 'read' | 'save'>
  version: string
  clock: Clock
  logger: Logger
}

/** Programs that wait for `initialize` never answer the first question of the newer protocol. */
const probeMs = 3_000
const maxPages = 20
const maxAskRounds = 5
const maxLogCharacters = 1_000
/** The library's limit, above all of ours. */
const lastResortMs = 45 * 60_000

/**
 * Connects with the newest protocol version that both sides know. Throws an error for the user, and `LoginNeeded` if
 * the server requires a login; nothing is left running then.
 */
export async function connectServer(
  needs: ConnectNeeds & {
    server: string
    settings: McpServerSettings
    signal: AbortSignal
    onListChanged(): void
    /** Called once, when the connection is gone for whatever reason. */
    onClosed(reason: string): void
  },
) {
  const { server, settings, logger, signal } = needs
  const sdk = await import('@modelcontextprotocol/client')
  let reasonOf = () => ''
  // The owner named this address in the configuration, so it may be on this machine or network.
  const allowedHosts = isProgram(settings) ? [] : hostsOf(settings, needs.allowedHosts())
  // For streams: the transport limits the size of messages.
  const fetch = createGuardedFetch({ streaming: true, allowedHosts })
  const loginFetch =
    !isProgram(settings) && (takesLogin(settings) || settings.oauth?.isOwnLogin)
      ? createLoginFetch(settings, needs.allowedHosts())
      : undefined

  async function closeFetches(): Promise<void> {
    await Promise.all([fetch.close(), loginFetch?.close()])
  }

  const calls = createOpenCalls(needs)

  function createAuth(address: McpAddress, fetch: GuardedFetch): AuthProvider {
    if (address.oauth?.isOwnLogin) return createClientAuth({ address, fetch })
    return createLoginAuth({ server, address, logins: needs.logins, fetch })
  }

  function openTransport(): Transport {
    if (isProgram(settings)) {
      const transport = createProgramTransport({ ...needs, program: settings, parse: sdk.deserializeMessage })
      reasonOf = transport.reason
      return transport
    }
    const Transport = sdk.StreamableHTTPClientTransport
    const auth = loginFetch && createAuth(settings, loginFetch)
    const { transport, reason } = createAddressTransport({ ...needs, fetch, auth, Transport, address: settings })
    reasonOf = reason
    return transport
  }

  function createClient(): Client {
    const client = new sdk.Client(
      { name: 'familiar', version: needs.version },
      {
        // The same in every process: some servers choose their tool list by it.
        capabilities: {
          elicitation: { form: {}, url: {} },
          // A program runs in the workspace and may know it. A server at an address learns no path of this machine.
          ...(isProgram(settings) && { roots: {} }),
          ...(settings.sampling === true && { sampling: {} }),
        },
        versionNegotiation: { mode: 'auto', probe: { timeoutMs: probeMs } },
        inputRequired: { autoFulfill: true, maxRounds: maxAskRounds },
        listMaxPages: maxPages,
        // Untrusted schemas are never compiled: their patterns could take very long.
        jsonSchemaValidator: {
          getValidator: () => (data) => ({ valid: true, data: data as never, errorMessage: undefined }),
        },
        listChanged: { tools: { autoRefresh: false, onChanged: () => needs.onListChanged() } },
      },
    )
    client.setRequestHandler('elicitation/create', ({ params }, { mcpReq }) => calls.elicit(params, mcpReq.signal))
    if (isProgram(settings)) {
      const uri = pathToFileURL(needs.workingDirectory).href
      client.setRequestHandler('roots/list', () => ({ roots: [{ uri, name: 'workspace' }] }))
    }
    const mayLog = createLineLimit(needs.clock)
    client.setNotificationHandler('notifications/message', ({ params }) => {
      const line = oneLine(
        typeof params.data === 'string' ? params.data : JSON.stringify(params.data),
        maxLogCharacters,
      )
      if (mayLog()) logger.info('message of an MCP server', { server, level: params.level, line })
    })
    if (settings.sampling === true) {
      client.setRequestHandler('sampling/createMessage', async ({ params }, { mcpReq }) => {
        try {
          const host = calls.only()
          if (!host) throw new RequestRefused('Sampling needs one call that it belongs to.')
          return await host.sample(params, mcpReq.signal)
        } catch (cause) {
          if (!(cause instanceof RequestRefused)) throw cause
          throw new sdk.ProtocolError(sdk.ProtocolErrorCode.InvalidRequest, cause.message)
        }
      })
    }
    client.onerror = (error) => logger.debug('error from an MCP server', { server, error: error.message })
    return client
  }

  async function connect(options: { prior?: { kind: 'legacy' } }): Promise<Client> {
    const client = createClient()
    const transport = openTransport()
    try {
      await untilAborted(client.connect(transport, { timeout: lastResortMs, signal, ...options }), signal)
      return client
    } catch (cause) {
      await transport.close().catch(() => undefined)
      throw cause
    }
  }

  async function connectOrSay(): Promise<Client> {
    try {
      return await connect({}).catch((cause: unknown) => {
        // Some older programs exit on unknown requests. They are restarted with the old protocol.
        const isEra = sdk.SdkError.isInstance(cause) && cause.code === sdk.SdkErrorCode.EraNegotiationFailed
        if (!isProgram(settings) || !isEra || signal.aborted) throw cause
        return connect({ prior: { kind: 'legacy' } })
      })
    } catch (cause) {
      const refusal = await readRefusal(cause)
      if (refusal) throw refusal
      // A program that exited has a better reason than the protocol.
      throw reasonOf() ? new Error(reasonOf(), { cause }) : cause
    }
  }

  /** The token was rejected even after a refresh, there is none, or it lacks a scope. */
  async function readRefusal(cause: unknown): Promise<LoginNeeded | LoginRefused | undefined> {
    if (!loginFetch || isProgram(settings)) return undefined
    const isOwn = settings.oauth?.isOwnLogin === true
    if (sdk.InsufficientScopeError.isInstance(cause)) {
      const asked = readScopes(cause.requiredScope)
      const held = new Set((await needs.logins.read(server, settings.url))?.scope.split(' '))
      const lacks = asked === '' ? [] : asked.split(' ').filter((scope) => !held.has(scope))
      if (lacks.length > 0 && !isOwn) return new LoginNeeded(server, asked)
      return new LoginRefused(
        `The login at ${server} may not do this, although it has every scope that the server names${asked && ` (${asked})`}. The account may lack the permission.`,
      )
    }
    const isRefused = sdk.SdkError.isInstance(cause) && cause.code === sdk.SdkErrorCode.ClientHttpAuthentication
    if (cause instanceof LoginNeeded) return cause
    if (!isRefused && !sdk.UnauthorizedError.isInstance(cause)) return undefined
    return isOwn ? new LoginRefused(`${server} refuses the login with oauth_client_id`) : new LoginNeeded(server)
  }

  function asLogin<T>(request: Promise<T>): Promise<T> {
    return request.catch(async (cause: unknown) => {
      throw (await readRefusal(cause)) ?? cause
    })
  }

  const client = await connectOrSay().catch(async (cause: unknown) => {
    await closeFetches()
    throw cause
  })
  client.onclose = () => {
    void closeFetches()
    needs.onClosed(reasonOf() || 'the connection was closed')
  }

  const offered = client.getServerCapabilities()

  function request<T>(
    requestSignal: AbortSignal,
    send: (options: RequestOptions & { cacheMode: 'refresh' }) => Promise<T>,
  ): Promise<T> {
    // Bypasses the library's cache: the server's current state counts.
    const options = { signal: requestSignal, timeout: lastResortMs, cacheMode: 'refresh' as const }
    return untilAborted(asLogin(send(options)), requestSignal)
  }

  return {
    offers: { resources: offered?.resources !== undefined, prompts: offered?.prompts !== undefined },
    /** Values that the server suggests for an argument of a prompt; none if it suggests nothing. */
    async suggest(
      wanted: { prompt: string; argument: string; typed: string; others: Record<string, string> },
      suggestSignal: AbortSignal,
    ): Promise<string[]> {
      if (!offered?.completions) return []
      const { prompt, argument, typed, others } = wanted
      const params = {
        ref: { type: 'ref/prompt' as const, name: prompt },
        argument: { name: argument, value: typed },
        context: { arguments: others },
      }
      return (await request(suggestSignal, (options) => client.complete(params, options))).completion.values
    },
    protocolVersion: client.getNegotiatedProtocolVersion() ?? '',
    serverName: client.getServerVersion()?.name ?? '',
    /** Its current tool list, unchecked. */
    async listTools(listSignal: AbortSignal): Promise<unknown[]> {
      if (!offered?.tools) return []
      return (await request(listSignal, (options) => client.listTools(undefined, options))).tools
    },
    async listResources(listSignal: AbortSignal) {
      const { resources } = await request(listSignal, (options) => client.listResources(undefined, options))
      const { resourceTemplates } = await request(listSignal, (options) =>
        client.listResourceTemplates(undefined, options).catch((cause: unknown) => {
          // Many servers with resources do not support templates and reject the request.
          if (sdk.ProtocolError.isInstance(cause)) return { resourceTemplates: [] }
          throw cause
        }),
      )
      return { resources, templates: resourceTemplates }
    },
    readResource: (uri: string, readSignal: AbortSignal) =>
      request(readSignal, (options) => client.readResource({ uri }, options)),
    listPrompts: async (listSignal: AbortSignal) =>
      (await request(listSignal, (options) => client.listPrompts(undefined, options))).prompts,
    getPrompt: (prompt: { name: string; arguments: Record<string, string> }, promptSignal: AbortSignal) =>
      request(promptSignal, (options) => client.getPrompt(prompt, options)),
    async callTool(wanted: {
      name: string
      arguments: { [key: string]: Json }
      signal: AbortSignal
      onProgress(progress: Progress): void
      /** Without it, all requests of the server are declined. */
      host?: CallHost
    }): Promise<CallToolResult> {
      const { name, arguments: given, signal: callSignal, onProgress, host } = wanted
      try {
        return await calls.run({
          host,
          signal: callSignal,
          onProgress,
          send: (options) =>
            asLogin(client.callTool({ name, arguments: given }, { ...options, timeout: lastResortMs })),
        })
      } catch (cause) {
        // The older way to send the user to an address. It is untrusted data that the library has not checked.
        const asksByError = host && sdk.UrlElicitationRequiredError.isInstance(cause)
        for (const asks of asksByError ? [cause.elicitations].flat() : []) await host?.elicit(asks)
        throw cause
      }
    },
    /** Nothing of it is left when this resolves: no process, no open stream. */
    async close(): Promise<void> {
      await client.close().catch(() => undefined)
      await closeFetches()
    },
  }
}

/** More than this within the window is a flood. Progress of a long call stays far below. */
const maxMessages = 2_000
const maxBytes = 64 * 1024 * 1024
const windowMs = 10_000

/** Counts a server's messages. Returns false once there are too many. */
function createFloodGate(clock: Clock) {
  let since = clock.now()
  let messages = 0
  let bytes = 0
  return (moreMessages: number, moreBytes: number): boolean => {
    if (clock.now() - since >= windowMs) {
      since = clock.now()
      messages = 0
      bytes = 0
    }
    messages += moreMessages
    bytes += moreBytes
    return messages <= maxMessages && bytes <= maxBytes
  }
}

const tooMany = 'it sends too many messages'
const largestMessageBytes = 8 * 1024 * 1024
const newline = 0x0a
const carriageReturn = 0x0d

/**
 * The same response, which fails if a message in it is too large or there are too many; `onTooMuch` gets the reason. An
 * event stream may be as long as the connection lives: each event and their number are limited.
 */
function limitAnswer(
  response: Response,
  gate: ReturnType<typeof createFloodGate>,
  onTooMuch: (reason: string) => void,
): Response {
  if (!response.body) return response
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  let size = 0
  let last = 0
  const limited = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        let events = 0
        if (!isStream) size += chunk.length
        else {
          for (const byte of chunk) {
            if (byte === carriageReturn) continue
            size += 1
            // An empty line ends an event.
            if (byte === newline && last === newline) {
              events += 1
              size = 0
            }
            last = byte
          }
        }
        const isFlood = !gate(events, chunk.length)
        if (!isFlood && size <= largestMessageBytes) return controller.enqueue(chunk)
        const reason = isFlood ? tooMany : `it sends a message of more than ${largestMessageBytes} bytes`
        controller.error(new Error(reason))
        return onTooMuch(reason)
      },
    }),
  )
  const { status, statusText, headers } = response
  return Object.defineProperty(new Response(limited, { status, statusText, headers }), 'url', { value: response.url })
}

const shortestReconnectMs = 1_000
/** A server that asks for a longer delay gets what it asks for, this often in ten minutes. */
const shortestPaceMs = 250
const maxPacedReconnects = 200
const maxReconnectMs = 5 * 60_000
/** JSON-RPC: an error of the transport. */
const brokenOff = -32_000

/** Messages over HTTP, through the guard, with limits on size and rate. */
function createAddressTransport(options: {
  Transport: typeof StreamableHTTPClientTransport
  address: McpAddress
  fetch: GuardedFetch
  auth?: AuthProvider | undefined
  clock: Clock
}): { transport: Transport; reason: () => string } {
  const { Transport, address, fetch, auth, clock } = options
  const gate = createFloodGate(clock)
  let reconnects = 0
  let countedSince = clock.now()
  let reason = ''

  function breakOff(why: string): void {
    reason = why
    void transport.close()
  }

  const transport = new Transport(new URL(address.url), {
    requestInit: { headers: { ...address.headers } },
    ...(auth && { authProvider: auth }),
    fetch: async (url, init) => limitAnswer(await fetch(url, { ...init, onRedirect: stayAtOrigin }), gate, breakOff),
    // A server may end its stream and set the pace of reconnects, but not request them endlessly or at once.
    reconnectionScheduler(reconnect, delay) {
      if (clock.now() - countedSince > 2 * maxReconnectMs) {
        countedSince = clock.now()
        reconnects = 0
      }
      const patience = delay >= shortestPaceMs ? reconnects - maxPacedReconnects : reconnects
      const backoff = patience < 0 ? 0 : Math.min(maxReconnectMs, shortestReconnectMs * 2 ** patience)
      reconnects += 1
      return clock.after(Math.max(delay, backoff), reconnect)
    },
  })
  const send = transport.send.bind(transport)
  transport.send = (message, more) =>
    send(message, {
      ...more,
      // If the response ends before the result, the caller would wait for the timeout. A call that has its result is
      // not affected.
      onRequestStreamEnd() {
        more?.onRequestStreamEnd?.()
        if (Array.isArray(message) || !('id' in message) || message.id === undefined) return
        const error = { code: brokenOff, message: 'its response ended before the result' }
        transport.onmessage?.({ jsonrpc: '2.0', id: message.id, error })
      },
    })
  return { transport, reason: () => reason }
}

export function createLineReader() {
  let pieces: Buffer[] = []
  let waiting = 0
  return {
    /** The lines that end in these bytes. The rest waits for the next ones. */
    take(bytes: Buffer): string[] {
      const lines: string[] = []
      let from = 0
      for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, from)) {
        lines.push(Buffer.concat([...pieces, bytes.subarray(from, end)]).toString('utf8'))
        pieces = []
        waiting = 0
        from = end + 1
      }
      if (from < bytes.length) pieces.push(bytes.subarray(from))
      waiting += bytes.length - from
      return lines
    },
    waiting: () => waiting,
  }
}

const maxBadLines = 100

/** Messages as lines over a program's standard input and output, with limits on size and rate. */
function createProgramTransport(
  options: Omit<Parameters<typeof startProgram>[0], 'onData' | 'onEnd'> & { parse(line: string): JSONRPCMessage },
) {
  const { clock, parse } = options
  const gate = createFloodGate(clock)
  const reader = createLineReader()
  let program: ServerProgram | undefined
  let badLines = 0
  let isClosing = false
  /** Why reading stopped; empty if there is no problem. */
  let reason = ''

  function give(line: string): void {
    if (line.trim() === '') return
    let message: JSONRPCMessage
    try {
      message = parse(line)
    } catch {
      // Some programs print a greeting or a log line there. One that prints nothing else is unusable.
      badLines += 1
      if (badLines > maxBadLines) breakOff(`it writes invalid messages (${badLines} lines)`)
      return
    }
    badLines = 0
    try {
      transport.onmessage?.(message)
    } catch (cause) {
      breakOff(`its output cannot be read: ${reasonOf(cause)}`)
    }
  }

  function take(bytes: Buffer): void {
    const lines = reader.take(bytes)
    const isTooLong = reader.waiting() > largestMessageBytes
    if (isTooLong) breakOff(`it writes a message of more than ${largestMessageBytes} bytes`)
    else if (!gate(lines.length, bytes.length)) breakOff(tooMany)
    for (const line of lines) if (reason === '') give(line)
  }

  function breakOff(why: string): void {
    reason = why
    program?.kill()
    transport.onerror?.(new Error(why))
  }

  const transport: Transport & { readonly pid: number | null; readonly stderr: null; reason(): string } = {
    // `pid` and `stderr` tell the library that the other side is a program.
    get pid() {
      return program?.pid ?? null
    },
    stderr: null,
    reason: () => reason,
    async start() {
      if (program) throw new Error('The program was already started')
      program = startProgram({
        ...options,
        onData: (bytes) => {
          if (reason === '' && !isClosing) take(bytes)
        },
        onEnd(why) {
          if (!isClosing) reason ||= why
          transport.onclose?.()
        },
      })
    },
    async send(message) {
      if (!program?.write(`${JSON.stringify(message)}\n`)) throw new Error(`The program cannot be found: ${reason}`)
    },
    async close() {
      isClosing = true
      await program?.end()
    },
  }
  return transport
}
