import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import type { TokenScope } from '../../policy/access-tokens.ts'
import { askMcp, type McpPlace, type McpReply, wasNotTaken } from './serve-link.ts'
import { headersOf, type McpMessage, readMessage } from './serve-message.ts'

const pauseMs = 500
const endMs = 500

/** Carries messages between a client's pipes and Familiar's `/mcp`, and begins anew there when Familiar was restarted. */
export interface McpBridge {
  /** One line of the client's. What comes of it is written when it comes. */
  take(line: string): void
  /** Resolves when all that was taken is answered. */
  settled(): Promise<void>
  /** Lets go of Familiar. */
  end(): Promise<void>
}

/** What a client of the older generation has set up, to be set up again. */
interface Setup {
  initialize: McpMessage
  isReady: boolean
  subscribed: Set<string>
}

interface Session {
  id: string
  version: string | undefined
}

export function createMcpBridge(options: {
  /** The Familiar that answers now; asked again when one has gone. */
  reach(): Promise<McpPlace>
  /** Resolves when a Familiar is there again. Starts none: nobody has asked for anything. */
  untilBack(signal: AbortSignal): Promise<void>
  /** A line to the client. */
  write(line: string): void
  /** A line to whoever looks for what is wrong. */
  note(line: string): void
  scope: TokenScope | undefined
}): McpBridge {
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

  /** Makes the request once more where nobody took it, or whoever took it does not know us. */
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
    renewal ??= beginAnew().finally(() => {
      renewal = undefined
    })
    return renewal
  }

  async function beginAnew(): Promise<void> {
    note('Familiar was restarted; beginning anew there')
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
      const text = JSON.stringify({
        jsonrpc: '2.0',
        id: `again ${uri}`,
        method: 'resources/subscribe',
        params: { uri },
      })
      await drain(await post({ text }, sessionHeaders(), signal))
    }
    listen()
  }

  /** What Familiar says unasked, for as long as the session is this one. */
  function listen(): void {
    const mine = session
    let last = ''
    const read = async (): Promise<void> => {
      while (mine && session === mine && !ending.signal.aborted) {
        try {
          const headers = { ...sessionHeaders(), ...(last !== '' && { 'last-event-id': last }) }
          const reply = await askMcp(await where(), {
            method: 'GET',
            headers,
            scope,
            signal: ending.signal,
          })
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

  /** Passes on what comes, and answers itself where nothing does. */
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
    if (!isAnswered && id !== undefined) fail(id, 'Familiar went away before it had answered.')
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
        const said = error instanceof Error ? error.message : String(error)
        note(said)
        if (message.id !== undefined) fail(message.id, said)
      })
      .finally(() => working.delete(done))
    working.add(done)
  }

  return {
    take(written) {
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
    async settled() {
      while (working.size > 0) await Promise.allSettled(working)
    },
    async end() {
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
