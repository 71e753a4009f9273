import { type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { parseAnyJson, parseJson } from '../../base/json.ts'

interface EngineRequest {
  method: 'GET' | 'POST' | 'DELETE'
  /** Without a version: Docker and Podman then speak the newest that each knows. */
  path: string
  query?: Readonly<Record<string, string>>
  /** An object goes as JSON, a stream as a tar archive. */
  body?: object | Readable
  signal?: AbortSignal
}

/** The engine answered, and said no. */
export class EngineError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.name = 'EngineError'
    this.status = status
  }
}

/**
 * The Docker API on a unix socket. Every answer past 2xx is thrown as an `EngineError`; a socket that nobody listens on
 * is thrown as the system says it.
 */
export interface EngineClient {
  readonly socketPath: string
  json<T>(request: EngineRequest, schema: z.ZodType<T>): Promise<T>
  /** For answers whose body says nothing. */
  send(request: EngineRequest): Promise<void>
  /** The body as it arrives. Whoever asks reads it to its end or destroys it. */
  stream(request: EngineRequest): Promise<Readable>
  /** The connection itself, both ways: what a container is attached to. Whoever asks ends it. */
  hijack(request: EngineRequest): Promise<Socket>
}

export function createEngineClient(socketPath: string): EngineClient {
  function open(options: EngineRequest & { upgrades?: boolean }): Promise<IncomingMessage | Socket> {
    const { method, path, query = {}, body, signal, upgrades = false } = options
    const search = new URLSearchParams(query).toString()
    const json = body === undefined || isStream(body) ? undefined : JSON.stringify(body)
    const headers = {
      Host: 'engine',
      ...(json !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(json) }),
      ...(body !== undefined && isStream(body) && { 'Content-Type': 'application/x-tar' }),
      ...(upgrades && { Connection: 'Upgrade', Upgrade: 'tcp' }),
    }
    return new Promise((resolve, reject) => {
      const outgoing = request({
        socketPath,
        method,
        path: search === '' ? path : `${path}?${search}`,
        headers,
        // A connection of its own: one that is kept may be dead when the engine has been restarted.
        agent: false,
        ...(signal && { signal }),
      })
      outgoing.on('error', (cause) => reject(signal?.aborted ? signal.reason : cause))
      outgoing.on('response', resolve)
      outgoing.on('upgrade', (_response, socket: Socket, head: Buffer) => {
        if (head.length > 0) socket.unshift(head)
        resolve(socket)
      })
      if (body !== undefined && isStream(body)) {
        body.on('error', (cause) => outgoing.destroy(cause))
        body.pipe(outgoing)
      } else outgoing.end(json)
    })
  }

  async function answer(options: EngineRequest): Promise<IncomingMessage> {
    const response = await open(options)
    if (!isAnswer(response)) throw new Error('The engine took over a connection that was not offered')
    if ((response.statusCode ?? 500) < 300) return response
    throw await toError(response)
  }

  return {
    socketPath,
    async json(options, schema) {
      const parsed = parseJson(await text(await answer(options)), schema)
      if (parsed.ok) return parsed.value
      throw new Error(`The engine's answer to ${options.method} ${options.path} does not fit: ${parsed.message}`)
    },
    async send(options) {
      // Read to its end, whatever it says: a body that breaks off unread would be an error that nobody hears.
      await text(await answer(options))
    },
    stream: answer,
    async hijack(options) {
      const response = await open({ ...options, upgrades: true })
      if (!isAnswer(response)) return response
      throw await toError(response)
    },
  }
}

function isAnswer(response: IncomingMessage | Socket): response is IncomingMessage {
  return 'statusCode' in response
}

function isStream(body: object): body is Readable {
  return 'pipe' in body
}

const errorSchema = z.object({ message: z.string() })

async function toError(response: IncomingMessage): Promise<EngineError> {
  const body = await text(response)
  const raw = parseAnyJson(body)
  const told = raw.ok ? errorSchema.safeParse(raw.value) : undefined
  return new EngineError(response.statusCode ?? 500, told?.success ? told.data.message : body.slice(0, 500))
}
