import type { Agent, Dispatcher, RequestInit as UndiciRequestInit, fetch as undiciFetch } from 'undici'
import { type Clock, systemClock } from '../../base/clock.ts'
import { causesOf } from '../../base/text.ts'
import {
  type AllowedHost,
  checkDestination,
  checkRedirect,
  createCheckedLookup,
  createListedHosts,
  type Destination,
  EgressError,
  type ResolveHost,
  resolveHost,
} from './destinations.ts'

export interface GuardedFetchOptions {
  /** Hosts on the owner's network that may be reached, for example a model server in the configuration. */
  allowedHosts?: readonly AllowedHost[]
  maxBytes?: number
  timeoutMs?: number
  maxRedirects?: number
  /** For model streams: no limit on size or total time. The reader decides when the stream has been idle too long. */
  streaming?: boolean
  resolve?: ResolveHost
  clock?: Clock
}

/**
 * A `fetch` that reaches only the public internet and the listed hosts (SEC-8). A rejected request throws an
 * EgressError; everything else behaves like `fetch`. Connections are reused until `close`.
 */
export interface GuardedFetch {
  (input: string | URL | Request, init?: GuardedInit): Promise<Response>
  /** With `streaming`: a lighter alternative to `fetch` under the same rules (decision 4). */
  open?: (url: string, init: OpenInit) => Promise<OpenedAnswer>
  close(): Promise<void>
}

interface GuardedInit extends RequestInit {
  /** Called before a redirect is followed. It may throw to refuse it: the request for it is then not sent. */
  onRedirect?(target: URL, from: URL): void | Promise<void>
}

/** For a service that was approved at its address: what is sent to it may not go on to another one (SEC-6d). */
export function stayAtOrigin(target: URL, from: URL): void {
  if (target.origin !== from.origin) throw redirectRefused(target, from)
}

export function redirectRefused(target: URL, from: URL): EgressError {
  return new EgressError('redirect_refused', `${from.origin} redirects to ${target.origin}, which was not approved`)
}

interface Network {
  fetch: typeof undiciFetch
  checked: Agent
  listed: Agent
}

export function createGuardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  const {
    allowedHosts = [],
    maxRedirects = 5,
    streaming = false,
    resolve = resolveHost,
    clock = systemClock(),
  } = options
  const { maxBytes = 5 * 1024 * 1024, timeoutMs = 30_000 } = options
  const isListed = createListedHosts(allowedHosts)
  let network: Promise<Network> | undefined

  async function guardedFetch(input: string | URL | Request, init: GuardedInit = {}): Promise<Response> {
    network ??= openNetwork(resolve, streaming)
    const opened = await network
    const request = await readRequest(input, init)
    const send: Send<Response> = (destination, sent) => fetchFrom(opened, destination, sent)
    if (streaming) return await followingRedirects(request, send)

    const timeout = startTimeout(request.init.signal)
    try {
      const limited = { url: request.url, init: { ...request.init, signal: timeout.signal } }
      return limitBody(await followingRedirects(limited, send), { maxBytes, onEnd: timeout.stop })
    } catch (error) {
      timeout.stop()
      throw error
    }
  }

  async function open(url: string, init: OpenInit): Promise<OpenedAnswer> {
    network ??= openNetwork(resolve, streaming)
    const opened = await network
    return await followingRedirects({ url: parseUrl(url), init }, (destination, sent) =>
      openFrom(opened, destination, sent),
    )
  }

  async function followingRedirects<T>(first: OutgoingRequest, send: Send<T>): Promise<T> {
    let { url, init } = first
    let destination = checkDestination(url, isListed)
    for (let redirects = 0; ; redirects += 1) {
      const { answer, status, location, cancel } = await send(destination, init)
      // A caller that follows redirects itself calls again, and each target is checked like the first.
      const next = init.redirect === 'manual' ? undefined : followRedirect({ status, location }, { url, init })
      if (!next) return answer
      cancel()
      if (redirects === maxRedirects) {
        throw new EgressError('too_many_redirects', `More than ${maxRedirects} redirects from ${first.url.hostname}`)
      }
      const target = checkRedirect(destination, next.url, isListed)
      await init.onRedirect?.(next.url, url)
      url = next.url
      init = next.init
      destination = target
    }
  }

  /** Runs from the first byte sent to the last byte read, so that a slow body is aborted too. */
  function startTimeout(signal: AbortSignal | null | undefined): { signal: AbortSignal; stop: () => void } {
    const timeout = new AbortController()
    const stop = clock.after(timeoutMs, () =>
      timeout.abort(new EgressError('timeout', `No complete response within ${timeoutMs} ms`)),
    )
    return { signal: signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal, stop }
  }

  return Object.assign(guardedFetch, {
    ...(streaming && { open }),
    async close() {
      const opened = await network
      network = undefined
      await Promise.all([opened?.checked.destroy(), opened?.listed.destroy()])
    },
  })
}

interface OutgoingRequest {
  url: URL
  init: GuardedInit
}

async function openNetwork(resolve: ResolveHost, streaming: boolean): Promise<Network> {
  const [agent, web] = await Promise.all([
    import('undici/lib/dispatcher/agent.js'),
    import('undici/lib/web/fetch/index.js'),
  ])
  const timeouts = streaming ? { headersTimeout: 0, bodyTimeout: 0 } : {}
  const checked = new agent.default({ ...timeouts, connect: { lookup: createCheckedLookup(resolve) } })
  return { fetch: web.default.fetch, checked, listed: new agent.default(timeouts) }
}

async function readRequest(input: string | URL | Request, init: GuardedInit): Promise<OutgoingRequest> {
  if (typeof input === 'string' || input instanceof URL) return { url: parseUrl(input), init }
  const { method, headers, signal } = input
  const body = input.body ? new Uint8Array(await input.arrayBuffer()) : null
  return { url: parseUrl(input.url), init: { method, headers, signal, body, ...init } }
}

function parseUrl(input: string | URL): URL {
  if (!URL.canParse(String(input))) throw new EgressError('blocked_url', 'This address cannot be fetched')
  return new URL(input)
}

/** Sends one request to a checked destination, without following redirects. */
type Send<T> = (destination: Destination, init: RequestInit) => Promise<Sent<T>>

interface Sent<T> {
  answer: T
  status: number
  location: string | null
  /** For a response that will not be read. */
  cancel(): void
}

async function fetchFrom(network: Network, destination: Destination, init: RequestInit): Promise<Sent<Response>> {
  const dispatcher = agentFor(network, destination)
  // The types of the package and of Node are the same interface in two versions.
  const outgoing = { ...init, dispatcher, redirect: 'manual' } as unknown as UndiciRequestInit
  const answer = (await tellingRefusals(network.fetch(destination.url, outgoing))) as unknown as Response
  const cancel = () => void answer.body?.cancel().catch(() => {})
  return { answer, status: answer.status, location: answer.headers.get('location'), cancel }
}

async function openFrom(network: Network, destination: Destination, init: RequestInit): Promise<Sent<OpenedAnswer>> {
  const first = init as OpenInit
  // After a redirect the headers are a Headers object.
  const outgoing = init.headers instanceof Headers ? { ...first, headers: Object.fromEntries(init.headers) } : first
  const answer = await tellingRefusals(openAnswer(agentFor(network, destination), destination.url, outgoing))
  return { answer, status: answer.status, location: answer.headers.location ?? null, cancel: answer.cancel }
}

/** The agent for listed hosts connects to any address of a name; the other one checks every address first. */
function agentFor(network: Network, { listed }: Destination): Agent {
  return listed ? network.listed : network.checked
}

/** fetch reports a rejected lookup as "fetch failed"; this throws the original error. */
async function tellingRefusals<T>(sending: Promise<T>): Promise<T> {
  try {
    return await sending
  } catch (error) {
    throw causesOf(error).find((cause) => cause instanceof EgressError) ?? error
  }
}

/**
 * The same response, whose body fails after `maxBytes` (counted after decompression). `onEnd` is called after the last
 * byte, or at once if there is no body.
 */
function limitBody(response: Response, limits: { maxBytes: number; onEnd: () => void }): Response {
  const { maxBytes, onEnd } = limits
  const announced = Number(response.headers.get('content-length') ?? 0)
  if (announced > maxBytes) {
    response.body?.cancel().catch(() => {})
    throw tooLarge(maxBytes)
  }
  if (!response.body) {
    onEnd()
    return response
  }
  let received = 0
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        received += chunk.byteLength
        if (received > maxBytes) controller.error(tooLarge(maxBytes))
        else controller.enqueue(chunk)
      },
      flush: onEnd,
    }),
  )
  const { status, statusText, headers } = response
  const limited = new Response(counted, { status, statusText, headers })
  return Object.defineProperty(limited, 'url', { value: response.url })
}

function tooLarge(maxBytes: number): EgressError {
  return new EgressError('too_large', `The response is larger than ${maxBytes} bytes`)
}

/**
 * A response whose body is still to be read: like that of `fetch`, without the parts that a model stream does not need.
 */
export interface OpenedAnswer {
  status: number
  statusText: string
  headers: Record<string, string>
  /** The next bytes; undefined after the last. Throws if the connection broke or the signal aborted. */
  read(): Promise<Uint8Array | undefined>
  /** Must be called if the body is not read to the end: it closes the connection, which is otherwise reused. */
  cancel(): void
}

/** The request. The body can only be a string, so that a redirect can send it again. */
export interface OpenInit {
  method: string
  headers: Record<string, string>
  body?: string | null
  signal: AbortSignal
}

/** Buffered bytes at which the server is asked to pause. */
const maxWaiting = 256 * 1024
// The headers that fetch sends. Compression is not requested, because nothing here decompresses.
const usualHeaders = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'undici' }

/** Sends one request through an agent. Rejects with the signal's reason or the connection's error. */
function openAnswer(agent: Agent, url: URL, { method, headers, body, signal }: OpenInit): Promise<OpenedAnswer> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason)
      return
    }
    const bytes = createByteQueue()
    let controller: Dispatcher.DispatchController | undefined
    const stop = (reason: Error) => {
      signal.removeEventListener('abort', onAbort)
      controller?.abort(reason)
      bytes.fail(reason)
      reject(reason)
    }
    const onAbort = () => stop(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started
        if (signal.aborted) started.abort(signal.reason)
      },
      onResponseStart(started, status, received, statusText = '') {
        if (status < 200) return
        const packed = received['content-encoding']
        if (packed && packed !== 'identity')
          return stop(new Error(`The response is compressed (${packed}) although that was not requested`))
        bytes.onRoom = () => started.resume()
        const cancel = () => stop(new Error('The reader stopped'))
        resolve({ status, statusText, headers: joined(received), read: bytes.read, cancel })
      },
      onResponseData(started, chunk) {
        if (bytes.add(chunk) > maxWaiting) started.pause()
      },
      onResponseEnd() {
        signal.removeEventListener('abort', onAbort)
        bytes.end()
      },
      onResponseError(_started, error) {
        stop(error)
      },
    }
    const sent = { ...usualHeaders, ...headers }
    agent.dispatch(
      { origin: url.origin, path: url.pathname + url.search, method, headers: sent, body: body ?? null },
      handler,
    )
  })
}

function joined(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]))
}

function createByteQueue() {
  const waiting: Uint8Array[] = []
  let size = 0
  let ended = false
  let failure: { error: unknown } | undefined
  let reader: PromiseWithResolvers<Uint8Array | undefined> | undefined

  const queue = {
    /** Called when a reader has taken the buffered bytes. */
    onRoom: () => {},
    /** Returns the number of buffered bytes. */
    add(chunk: Uint8Array): number {
      if (reader) {
        reader.resolve(chunk)
        reader = undefined
      } else {
        waiting.push(chunk)
        size += chunk.length
      }
      return size
    },
    end(): void {
      ended = true
      reader?.resolve(undefined)
    },
    /** Errors after the end are ignored. */
    fail(error: unknown): void {
      if (ended || failure) return
      failure = { error }
      waiting.length = 0
      reader?.reject(error)
    },
    read(): Promise<Uint8Array | undefined> {
      if (failure) return Promise.reject(failure.error)
      const next = waiting.shift()
      if (next) {
        size -= next.length
        if (waiting.length === 0) queue.onRoom()
        return Promise.resolve(next)
      }
      if (ended) return Promise.resolve(undefined)
      reader = Promise.withResolvers()
      return reader.promise
    },
  }
  return queue
}

const redirectStatuses = new Set([301, 302, 303, 307, 308])
/** Headers that may be sent to another origin: nothing that could be a credential. */
const harmlessHeaders = new Set(['accept', 'accept-language', 'content-type', 'user-agent'])

/** The request that a redirect asks for; undefined if the response is not a redirect. */
function followRedirect(
  { status, location }: Pick<Sent<unknown>, 'status' | 'location'>,
  { url, init }: OutgoingRequest,
): OutgoingRequest | undefined {
  if (!redirectStatuses.has(status) || location === null) return undefined
  if (!URL.canParse(location, url.href))
    throw new EgressError('blocked_url', `${url.hostname} redirects to an invalid address`)
  const target = new URL(location, url)
  const headers = new Headers(init.headers)
  if (target.origin !== url.origin) {
    for (const name of [...headers.keys()]) if (!harmlessHeaders.has(name)) headers.delete(name)
  }
  if (!becomesGet(status, init.method)) {
    if (init.body instanceof ReadableStream) {
      throw new EgressError(
        'body_not_replayable',
        `${url.hostname} redirects a request whose body can be sent only once`,
      )
    }
    return { url: target, init: { ...init, headers } }
  }
  headers.delete('content-type')
  return { url: target, init: { ...init, headers, method: 'GET', body: null } }
}

function becomesGet(status: number, method = 'GET'): boolean {
  const name = method.toUpperCase()
  if (status === 303) return name !== 'GET' && name !== 'HEAD'
  return (status === 301 || status === 302) && name === 'POST'
}
