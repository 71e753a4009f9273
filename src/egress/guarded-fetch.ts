import type { Agent, RequestInit as UndiciRequestInit, fetch as undiciFetch } from 'undici'
import { type Clock, systemClock } from '../base/clock.ts'
import { createCheckedLookup, type ResolveHost, resolveHost } from './checked-lookup.ts'
import {
  type AllowedHost,
  checkDestination,
  checkRedirect,
  createListedHosts,
  type Destination,
} from './destination.ts'
import { EgressError } from './egress-error.ts'
import { limitBody } from './limited-body.ts'
import { type OpenedAnswer, type OpenInit, openAnswer } from './opened-answer.ts'
import { followRedirect } from './redirect.ts'

export interface GuardedFetchOptions {
  /** Hosts on the owner's own network that may be reached, for example a model server named in the configuration. */
  allowedHosts?: readonly AllowedHost[]
  maxBytes?: number
  timeoutMs?: number
  maxRedirects?: number
  /** For model streams: no cap on size or total time. Whoever reads the stream decides when it has been idle too long. */
  streaming?: boolean
  resolve?: ResolveHost
  clock?: Clock
}

/**
 * A `fetch` that reaches only the public internet and the listed hosts (SEC-8). A refusal is thrown as an EgressError;
 * everything else behaves as `fetch` does. Connections are kept for reuse until `close`.
 */
export interface GuardedFetch {
  (input: string | URL | Request, init?: RequestInit): Promise<Response>
  /** Where it is `streaming`: the same way out, by the same rules, for less than `fetch` costs (decision 4). */
  open?: (url: string, init: OpenInit) => Promise<OpenedAnswer>
  close(): Promise<void>
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

  async function guardedFetch(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
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
      // A caller that follows by its own rules asks again here, and each target is checked like the first.
      const next = init.redirect === 'manual' ? undefined : followRedirect({ status, location }, url, init)
      if (!next) return answer
      cancel()
      if (redirects === maxRedirects) {
        throw new EgressError('too_many_redirects', `More than ${maxRedirects} redirects from ${first.url.hostname}`)
      }
      url = next.url
      init = next.init
      destination = checkRedirect(destination, url, isListed)
    }
  }

  /** Runs from the first byte sent to the last byte read, so that a body that trickles ends too. */
  function startTimeout(signal: AbortSignal | null | undefined): { signal: AbortSignal; stop: () => void } {
    const timeout = new AbortController()
    const stop = clock.after(timeoutMs, () =>
      timeout.abort(new EgressError('timeout', `No full answer within ${timeoutMs} ms`)),
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
  init: RequestInit
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

async function readRequest(input: string | URL | Request, init: RequestInit): Promise<OutgoingRequest> {
  if (typeof input === 'string' || input instanceof URL) return { url: parseUrl(input), init }
  const { method, headers, signal } = input
  const body = input.body ? new Uint8Array(await input.arrayBuffer()) : null
  return { url: parseUrl(input.url), init: { method, headers, signal, body, ...init } }
}

function parseUrl(input: string | URL): URL {
  if (!URL.canParse(String(input))) throw new EgressError('blocked_url', 'Not an address that can be fetched')
  return new URL(input)
}

/** One request to a destination that was checked, with no redirect followed. */
type Send<T> = (destination: Destination, init: RequestInit) => Promise<Sent<T>>

interface Sent<T> {
  answer: T
  status: number
  location: string | null
  /** For an answer that nobody will read. */
  cancel(): void
}

async function fetchFrom(network: Network, destination: Destination, init: RequestInit): Promise<Sent<Response>> {
  const dispatcher = agentFor(network, destination)
  // The package's own types and Node's are the same interface of two releases.
  const outgoing = { ...init, dispatcher, redirect: 'manual' } as unknown as UndiciRequestInit
  const answer = (await tellingRefusals(network.fetch(destination.url, outgoing))) as unknown as Response
  const cancel = () => void answer.body?.cancel().catch(() => {})
  return { answer, status: answer.status, location: answer.headers.get('location'), cancel }
}

async function openFrom(network: Network, destination: Destination, init: RequestInit): Promise<Sent<OpenedAnswer>> {
  const first = init as OpenInit
  // After a redirect they are an object of their own.
  const outgoing = init.headers instanceof Headers ? { ...first, headers: Object.fromEntries(init.headers) } : first
  const answer = await tellingRefusals(openAnswer(agentFor(network, destination), destination.url, outgoing))
  return { answer, status: answer.status, location: answer.headers.location ?? null, cancel: answer.cancel }
}

/** The agent of listed hosts connects wherever a name leads; the other one checks every address first. */
function agentFor(network: Network, { listed }: Destination): Agent {
  return listed ? network.listed : network.checked
}

async function tellingRefusals<T>(sending: Promise<T>): Promise<T> {
  try {
    return await sending
  } catch (error) {
    throw refusalBehind(error) ?? error
  }
}

/** fetch reports what the lookup refused as "fetch failed"; callers are told the refusal itself. */
function refusalBehind(error: unknown): EgressError | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof EgressError) return current
  }
  return undefined
}
