import { randomUUID } from 'node:crypto'
import { type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { z } from 'zod'
import { type Clock, sleep } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import { collectOutput } from '../../base/processes.ts'
import { untilAborted } from '../../base/work.ts'
import { endOfCode, type SandboxCommand, type SandboxEnd, type SandboxOutcome } from '../sandbox.ts'
import { startLine } from './container-spec.ts'

/** How long the engine may take for one step. */
const stepMs = 60_000

interface ContainerRun {
  client: EngineClient
  clock: Clock
  spec: object
  command: SandboxCommand
  signal: AbortSignal
}

/**
 * Runs one container, from creation to removal. It is gone when this ends, whatever happens; `signal` ends it at once,
 * and its reason is thrown.
 */
export async function runContainer(run: ContainerRun): Promise<Omit<SandboxOutcome, 'result'>> {
  const { client, spec, signal } = run
  // Named here, so that it can be removed even if the engine's response never arrived.
  const name = `familiar-${randomUUID()}`
  try {
    // Not with `signal`: an aborted request may still create a container.
    await client.send({ method: 'POST', path: '/containers/create', query: { name }, body: spec, ...patiently() })
    signal.throwIfAborted()
    return await attachAndRun(name, run)
  } finally {
    await removeContainer(client, name)
  }
}

async function attachAndRun(
  name: string,
  { client, clock, command, signal }: ContainerRun,
): Promise<Omit<SandboxOutcome, 'result'>> {
  // Before the start: a container may be done before a later attach.
  const socket = await client.hijack({
    method: 'POST',
    path: `/containers/${name}/attach`,
    query: { stream: '1', stdin: '1', stdout: '1', stderr: '1' },
    ...patiently(),
  })
  try {
    const output = listenTo(socket, command.limits.outputBytes)
    await client.send({ method: 'POST', path: `/containers/${name}/start`, ...patiently() })
    const startedAt = clock.now()
    socket.write(startLine)
    socket.end(command.stdin)

    const timeout = new AbortController()
    const cancelTimeout = clock.after(command.limits.wallMs, () => timeout.abort())
    const deadline = AbortSignal.any([signal, timeout.signal])
    const end = await endOf({ client, clock, name, finished: output.finished, deadline }).finally(cancelTimeout)
    signal.throwIfAborted()
    const durationMs = clock.now() - startedAt
    const streams = { stdout: output.stdout(), stderr: output.stderr() }
    return { end, ...streams, durationMs, peakMemoryBytes: null, driver: 'container' }
  } finally {
    socket.destroy()
  }
}

/**
 * The end of the streams is almost always the end of the run, and is known at once; a program that closes them and
 * continues is polled until it stops. The engine's `wait` would poll for longer.
 */
async function endOf(options: {
  client: EngineClient
  clock: Clock
  name: string
  finished: Promise<{ tooLarge: 'stdout' | 'stderr' | null }>
  deadline: AbortSignal
}): Promise<SandboxEnd> {
  const { client, clock, name, finished, deadline } = options
  const first = await untilAborted(finished, deadline).catch(() => undefined)
  if (!first) return { kind: 'timed_out' }
  if (first.tooLarge) return { kind: 'output_too_large', stream: first.tooLarge }
  for (let pause = 2; ; pause = Math.min(pause * 2, 100)) {
    const inspecting = { method: 'GET', path: `/containers/${name}/json`, ...patiently() } as const
    const { Status, ExitCode, OOMKilled } = (await client.json(inspecting, stateSchema)).State
    if (!['created', 'running', 'stopping'].includes(Status)) {
      return OOMKilled ? { kind: 'out_of_memory' } : endOfCode(ExitCode)
    }
    if (deadline.aborted) return { kind: 'timed_out' }
    await sleep(clock, pause, deadline).catch(() => undefined)
  }
}

const stateSchema = z.object({
  State: z.object({ Status: z.string(), ExitCode: z.number(), OOMKilled: z.boolean() }),
})

/** The cgroup report of the shell inside. A command can forge it, but only to claim that it ran out of memory. */
export function readAccount(text: string): { isOutOfMemory: boolean; peakMemoryBytes: number | null } {
  const numberOf = (name: string) => {
    const found = new RegExp(`^${name} (\\d{1,15})$`, 'm').exec(text)
    return found ? Number(found[1]) : null
  }
  return { isOutOfMemory: (numberOf('oom_kill') ?? 0) > 0, peakMemoryBytes: numberOf('peak') }
}

/** Kills first: some engines wait for a graceful stop even when removing by force. */
export async function removeContainer(client: EngineClient, name: string): Promise<void> {
  const gone = (cause: unknown) => {
    if (cause instanceof EngineError && cause.status >= 400 && cause.status < 500) return
    throw cause
  }
  const path = `/containers/${name}`
  await client.send({ method: 'POST', path: `${path}/kill`, query: { signal: 'KILL' }, ...patiently() }).catch(() => {})
  await client.send({ method: 'DELETE', path, query: { force: '1', v: '1' }, ...patiently() }).catch(gone)
}

function patiently(): { signal: AbortSignal } {
  return { signal: AbortSignal.timeout(stepMs) }
}

interface OutputFrame {
  stream: 'stdout' | 'stderr'
  bytes: Uint8Array
}

/**
 * Splits the stream of a container without a terminal: eight bytes (1 or 2 for the stream, three zeros, the length)
 * before each piece. Pieces are passed on as they arrive, so that nothing is buffered.
 */
export function createDemultiplexer(tell: (frame: OutputFrame) => void): (chunk: Uint8Array) => void {
  const header = Buffer.alloc(8)
  let headerFilled = 0
  let left = 0

  return (chunk) => {
    let at = 0
    while (at < chunk.length) {
      if (left === 0) {
        const piece = chunk.subarray(at, at + header.length - headerFilled)
        header.set(piece, headerFilled)
        headerFilled += piece.length
        at += piece.length
        if (headerFilled < header.length) return
        headerFilled = 0
        left = header.readUInt32BE(4)
        continue
      }
      const bytes = chunk.subarray(at, at + left)
      at += bytes.length
      left -= bytes.length
      tell({ stream: header[0] === 2 ? 'stderr' : 'stdout', bytes })
    }
  }
}

/**
 * Listens from now on. Bytes above `maxBytes` of one stream are discarded. `finished` resolves when every writer has
 * closed both streams, or with the stream that exceeded the limit. It never rejects.
 */
function listenTo(socket: Socket, maxBytes: number) {
  const { promise: finished, resolve } = Promise.withResolvers<{ tooLarge: 'stdout' | 'stderr' | null }>()
  const stdout = collectOutput(maxBytes, () => resolve({ tooLarge: 'stdout' }))
  const stderr = collectOutput(maxBytes, () => resolve({ tooLarge: 'stderr' }))
  const streams = { stdout, stderr }
  socket.on(
    'data',
    createDemultiplexer(({ stream, bytes }) => streams[stream].take(bytes)),
  )
  socket.on('end', () => resolve({ tooLarge: null }))
  // A broken connection says nothing more; the container's state is queried next.
  socket.on('error', () => resolve({ tooLarge: null }))
  socket.on('close', () => resolve({ tooLarge: null }))
  return { stdout: stdout.bytes, stderr: stderr.bytes, finished }
}

interface EngineRequest {
  method: 'GET' | 'POST' | 'DELETE'
  /** Without a version: Docker and Podman then use their newest. */
  path: string
  query?: Readonly<Record<string, string>>
  /** An object is sent as JSON, a stream as a tar archive. */
  body?: object | Readable
  signal?: AbortSignal
}

export class EngineError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.name = 'EngineError'
    this.status = status
  }
}

export type EngineClient = ReturnType<typeof createEngineClient>

/**
 * The Docker API on a unix socket. Every response other than 2xx is thrown as an `EngineError`; a connection error is
 * thrown as it is.
 */
export function createEngineClient(socketPath: string) {
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
        // A new connection: a reused one may be dead after an engine restart.
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
    async json<T>(options: EngineRequest, schema: z.ZodType<T>): Promise<T> {
      const parsed = parseJson(await text(await answer(options)), schema)
      if (parsed.ok) return parsed.value
      throw new Error(`The engine's response to ${options.method} ${options.path} is not valid: ${parsed.message}`)
    },
    /** For responses without a meaningful body. */
    async send(options: EngineRequest): Promise<void> {
      // Read to its end, because an error of an unread body would be unhandled.
      await text(await answer(options))
    },
    /** The body as it arrives. The caller reads it to its end or destroys it. */
    stream: answer,
    /** The raw connection, both ways: for attaching to a container. The caller ends it. */
    async hijack(options: EngineRequest): Promise<Socket> {
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
  const told = parseJson(body, errorSchema)
  return new EngineError(response.statusCode ?? 500, told.ok ? told.value.message : body.slice(0, 500))
}
