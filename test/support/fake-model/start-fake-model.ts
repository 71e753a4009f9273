import { isUtf8 } from 'node:buffer'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { anthropic } from './anthropic.ts'
import { lastUserText, latestToolResults } from './conversation.ts'
import { deliver, sendError, sendJson } from './deliver.ts'
import { google } from './google.ts'
import { createIssued } from './issued.ts'
import { hasLoneSurrogate, isObject, type JsonObject } from './json.ts'
import { listModels } from './list-models.ts'
import { ollama } from './ollama.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'
import { createPictures, makePicture, type PictureRequest, type PictureStep, picturePath } from './pictures.ts'
import type { ModelRequest, RecordedRequest } from './recorded-request.ts'
import { createCounters, resolveStep } from './reply.ts'
import { openRequestsFile } from './requests-file.ts'
import type { Step } from './step.ts'
import { watchConditions } from './watch-conditions.ts'
import { type Call, invalid, type Rejection, type Wire } from './wire.ts'

const WIRES: Wire[] = [anthropic, openaiChat, openaiResponses, google, ollama]
const DEFAULT_MODELS = ['fake-model']

/** Decides on a reply; `undefined` leaves it to the echo. */
export type Responder = (request: ModelRequest) => Step | undefined | Promise<Step | undefined>

/** Steps to play in order, or a function that decides. */
export type Script = Step | Step[] | Responder

export interface FakeModelStats {
  requests: number
  rejected: number
  aborted: number
  inFlight: number
  peakInFlight: number
  /** Spent on answers in all: from the whole request to the last byte written. */
  answeringMs: number
}

export interface FakeModel {
  /** `http://127.0.0.1:PORT`; the base URL of a provider is this plus `/v1` (or `/v1beta` for Google). */
  url: string
  /** Every model call received, in order; listings of models are not among them. */
  requests: RecordedRequest[]
  /** Queues replies. A request that is rejected takes none. */
  reply(steps: Step | Step[]): void
  /** The next answer to a request for pictures. Without one it sends pictures of one color. */
  replyPicture(step: PictureStep): void
  /** Every request for pictures; they are not among the model calls. */
  pictureRequests: readonly PictureRequest[]
  /** Answers when the queue is empty. Replaces the responder before it. */
  respondWith(responder: Responder): void
  stats(): FakeModelStats
  /** The requests that a provider would have refused. */
  rejections(): RecordedRequest[]
  /** Resolves once the condition holds, looked at whenever a request arrives or ends; rejects after ten seconds. */
  until(condition: () => boolean | undefined): Promise<void>
  /** Ends every open connection. Not counted as the client's abort. */
  close(): Promise<void>
}

export interface FakeModelOptions {
  /** 0, the default, takes any free port. */
  port?: number
  script?: Script
  /** Appended to and synced before a request is answered; read it with `readRequestsFile`. */
  requestsFile?: string
  /** `false` keeps no requests in memory, for long runs: `requests` and `rejections()` stay empty. */
  keepRequests?: boolean
  /** Names that the listings show; any name is answered. */
  models?: string[]
  /** The only accepted key. Default: any. */
  key?: string
  now?: () => number
}

/** A model provider on a real socket that answers from a script and refuses what real providers refuse. */
export async function startFakeModel(options: FakeModelOptions = {}): Promise<FakeModel> {
  const { keepRequests = true, models = DEFAULT_MODELS, now = Date.now } = options
  const queue: Step[] = []
  let responder: Responder | undefined
  // Each provider knows only its own: a session that changes provider must not carry the other's signatures along.
  const issuedBy = new Map(WIRES.map(({ name }) => [name, createIssued()]))
  const counters = createCounters()
  const requests: RecordedRequest[] = []
  const totals: FakeModelStats = { requests: 0, rejected: 0, aborted: 0, inFlight: 0, peakInFlight: 0, answeringMs: 0 }
  const requestsFile = options.requestsFile === undefined ? undefined : openRequestsFile(options.requestsFile)
  const conditions = watchConditions()
  let closing = false
  let url = ''
  const pictures = createPictures(() => url)

  const hasKey = ({ headers }: IncomingMessage) =>
    options.key === undefined ||
    [headers.authorization, headers['x-api-key'], headers['x-goog-api-key']].some(
      (sent) => sent === options.key || sent === `Bearer ${options.key}`,
    )

  const track = (record: RecordedRequest, response: ServerResponse) => {
    const fate = { cut: false }
    if (keepRequests) requests.push(record)
    totals.requests += 1
    totals.inFlight += 1
    totals.peakInFlight = Math.max(totals.peakInFlight, totals.inFlight)
    response.once('close', () => {
      totals.inFlight -= 1
      record.endedAt = now()
      if (response.headersSent) record.status = response.statusCode
      record.aborted = !response.writableFinished && !fate.cut && !closing
      if (record.aborted) totals.aborted += 1
      conditions.check()
    })
    return fate
  }

  const answerModelCall = async (wire: Wire, incoming: IncomingMessage, response: ServerResponse) => {
    const bytes = await readBody(incoming)
    const start = performance.now()
    const { call, rejection: unreadable } = readCall({ incoming, bytes, wire })
    const n = totals.requests + 1
    const { path, headers, body } = call
    const picture = hasKey(incoming) ? pictures.answer(call) : undefined
    if (picture) return sendJson(response, picture.status, picture.document)
    const record: RecordedRequest = {
      n,
      wire: wire.name,
      path,
      headers,
      body,
      bytes: bytes.toString(),
      at: now(),
      aborted: false,
    }
    const fate = track(record, response)
    const issued = issuedBy.get(wire.name) ?? createIssued()
    const rejection = unreadable ?? wire.validate(call, issued)
    if (rejection) {
      record.rejection = rejection.message
      totals.rejected += 1
    }
    requestsFile?.append(record)
    response.setHeader('request-id', `req_${n}`)
    response.setHeader('x-request-id', `req_${n}`)
    conditions.check()
    if (!hasKey(incoming)) return sendError({ response, wire, status: 401, message: 'Incorrect API key provided.' })
    if (rejection) return sendError({ response, wire, ...rejection })

    const request = view({ wire, call, n, bytes: record.bytes })
    const step = queue.shift() ?? (await responder?.(request)) ?? echo(request)
    const reply = resolveStep({
      step,
      n,
      model: request.model,
      createdAt: record.at,
      requestLength: record.bytes.length,
      toolCallPrefix: wire.toolCallPrefix,
      counters,
    })
    wire.remember(reply, call, issued)
    const onCut = () => {
      fate.cut = true
    }
    await deliver({ response, wire, call, step, reply, onCut })
    totals.answeringMs += performance.now() - start
  }

  const server = createServer({ noDelay: true, keepAlive: true }, (incoming, response) => {
    const path = pathOf(incoming)
    if (incoming.method === 'GET') {
      if (path === picturePath) return void response.setHeader('content-type', 'image/png').end(makePicture())
      if (!hasKey(incoming)) return sendJson(response, 401, { error: { message: 'Incorrect API key provided.' } })
      const document = path === '/fake/stats' ? totals : listModels({ path, headers: incoming.headers, models })
      return document ? sendJson(response, 200, document) : sendJson(response, 404, { error: { message: 'Not found' } })
    }
    // Errors of the images API have OpenAI's form.
    const wire = WIRES.find((candidate) => candidate.matches(path.replace('/images/generations', '/chat/completions')))
    if (!wire || incoming.method !== 'POST') {
      incoming.resume()
      return sendJson(response, 404, { error: { message: `no such endpoint: ${incoming.method} ${path}` } })
    }
    answerModelCall(wire, incoming, response).catch((error: unknown) => {
      if (response.headersSent || response.destroyed) return response.destroy()
      sendError({ response, wire, status: 500, message: `the fake model failed: ${String(error)}` })
    })
  })
  // An idle connection that the server closes races with the client's next request.
  server.keepAliveTimeout = 0
  server.requestTimeout = 0
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo

  url = `http://127.0.0.1:${port}`

  const fakeModel: FakeModel = {
    url,
    requests,
    replyPicture: pictures.reply,
    pictureRequests: pictures.requests,
    reply: (steps) => void queue.push(...[steps].flat()),
    respondWith: (next) => {
      responder = next
    },
    stats: () => ({ ...totals }),
    rejections: () => requests.filter(({ rejection }) => rejection !== undefined),
    until: conditions.until,
    close: async () => {
      closing = true
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
      requestsFile?.close()
    },
  }
  if (typeof options.script === 'function') fakeModel.respondWith(options.script)
  else if (options.script) fakeModel.reply(options.script)
  return fakeModel
}

export function echo({ lastUserText }: Pick<ModelRequest, 'lastUserText'>): Step {
  return { text: `echo: ${lastUserText}` }
}

function view(options: { wire: Wire; call: Call; n: number; bytes: string }): ModelRequest {
  const { wire, call, n, bytes } = options
  const conversation = wire.read(call.body)
  return {
    ...conversation,
    n,
    wire: wire.name,
    model: wire.model(call),
    stream: wire.wantsStream(call),
    lastUserText: lastUserText(conversation.messages),
    toolResults: latestToolResults(conversation.messages),
    bytes,
  }
}

function readCall(options: { incoming: IncomingMessage; bytes: Buffer; wire: Wire }): {
  call: Call
  rejection?: Rejection
} {
  const { incoming, bytes, wire } = options
  const call = (body: JsonObject): Call => ({ path: pathOf(incoming), headers: incoming.headers, body })
  if (!isUtf8(bytes)) return { call: call({}), rejection: invalid('The request body is not valid UTF-8.') }
  const text = bytes.toString()
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch (error) {
    return { call: call({}), rejection: invalid(`The request body is not valid JSON: ${String(error)}`) }
  }
  if (!isObject(body)) return { call: call({}), rejection: invalid('The request body is not a JSON object.') }
  if (wire.loneSurrogates !== 'accepted' && hasLoneSurrogate(text, body)) {
    const message = 'The request body is not valid JSON: no low surrogate in string'
    return { call: call(body), rejection: invalid(message) }
  }
  return { call: call(body) }
}

async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function pathOf({ url = '/' }: IncomingMessage): string {
  const query = url.indexOf('?')
  return query === -1 ? url : url.slice(0, query)
}
