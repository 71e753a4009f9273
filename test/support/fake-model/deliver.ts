import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import type { Reply } from './reply.ts'
import type { Step } from './step.ts'
import type { Call, Frame, Wire } from './wire.ts'

/**
 * Sends a reply with the step's pace and faults. Returns early when the client goes away, and leaves the response open
 * if the step says so: closing the server ends those.
 */
export async function deliver(options: {
  response: ServerResponse
  wire: Wire
  call: Call
  step: Step
  reply: Reply
  onCut: () => void
}): Promise<void> {
  const { response, wire, call, step, reply } = options
  if (response.destroyed) return
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  try {
    if (step.delayMs) await wait(step.delayMs, undefined, { signal: gone.signal })
    if (step.hang) return
    if (step.status !== undefined) {
      sendError({ response, wire, status: step.status, message: step.errorMessage, retryAfter: step.retryAfter })
    } else if (wire.wantsStream(call)) {
      await sendStream({ ...options, frames: wire.stream(reply, call), signal: gone.signal })
    } else {
      await sendWhole({ ...options, document: JSON.stringify(wire.whole(reply, call)) })
    }
  } catch (error) {
    if (!gone.signal.aborted) throw error
  }
}

const DEFAULT_MESSAGES: Record<number, string> = {
  401: 'invalid x-api-key',
  429: 'This request would exceed your rate limit.',
  500: 'Internal server error',
  529: 'Overloaded',
}

export function sendError(options: {
  response: ServerResponse
  wire: Wire
  status: number
  message?: string | undefined
  param?: string | undefined
  code?: string | undefined
  retryAfter?: number | undefined
}): void {
  const { response, wire, status, message, param, code, retryAfter } = options
  const rejection = {
    status,
    message: message ?? DEFAULT_MESSAGES[status] ?? `fake error ${status}`,
    ...(param === undefined ? {} : { param }),
    ...(code === undefined ? {} : { code }),
  }
  if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter))
  sendJson(response, status, wire.error(rejection))
}

export function sendJson(response: ServerResponse, status: number, document: unknown): void {
  const body = JSON.stringify(document)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
  response.end(body)
}

type StreamOptions = {
  response: ServerResponse
  wire: Wire
  step: Step
  frames: Frame[]
  signal: AbortSignal
  onCut: () => void
}

async function sendStream({ response, wire, step, frames, signal, onCut }: StreamOptions): Promise<void> {
  const { cutAfterChunks, stallAfterChunks, endAfterChunks, errorEventAfterChunks } = step
  const accident = cutAfterChunks ?? stallAfterChunks ?? endAfterChunks ?? errorEventAfterChunks
  const data = (accident === undefined ? frames : framesUpTo(frames, accident)).map((frame) => frame.data)
  if (errorEventAfterChunks !== undefined) data.push(wire.errorFrame(step.errorMessage ?? 'Overloaded'))

  response.writeHead(200, { 'content-type': wire.streamType, 'cache-control': 'no-cache' })
  if (isOneWrite(step) && accident === undefined) {
    response.end(data.join(''))
    return
  }
  response.flushHeaders()
  for (const [index, piece] of writes(data, step).entries()) {
    if (index > 0) await (step.chunkDelayMs ? wait(step.chunkDelayMs, undefined, { signal }) : nextTurn())
    if (signal.aborted) return
    await write(response, piece)
  }
  if (cutAfterChunks !== undefined) return cut(response, onCut)
  if (stallAfterChunks !== undefined) return
  response.end()
}

async function sendWhole(options: {
  response: ServerResponse
  wire: Wire
  step: Step
  document: string
  onCut: () => void
}): Promise<void> {
  const { response, wire, step, document, onCut } = options
  if (step.errorEventAfterChunks !== undefined) {
    return sendError({ response, wire, status: 529, message: step.errorMessage })
  }
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(document) })
  if (step.stallAfterChunks === undefined && step.cutAfterChunks === undefined) {
    response.end(document)
    return
  }
  await write(response, Buffer.from(document.slice(0, Math.floor(document.length / 2))))
  if (step.cutAfterChunks !== undefined) cut(response, onCut)
}

function framesUpTo(frames: Frame[], chunks: number): Frame[] {
  let seen = 0
  let end = 0
  for (const [index, frame] of frames.entries()) {
    if (seen === chunks) break
    if (!frame.content) continue
    seen += 1
    end = index + 1
  }
  return frames.slice(0, end)
}

function isOneWrite(step: Step): boolean {
  return step.chunkDelayMs === undefined && step.writeSize === undefined
}

function writes(data: string[], { chunkDelayMs, writeSize }: Step): Buffer[] {
  const whole = chunkDelayMs === undefined ? [data.join('')] : data
  return whole.map((text) => Buffer.from(text)).flatMap((buffer) => slices(buffer, writeSize ?? buffer.length))
}

function slices(buffer: Buffer, size: number): Buffer[] {
  const parts: Buffer[] = []
  for (let start = 0; start < buffer.length; start += Math.max(1, size)) {
    parts.push(buffer.subarray(start, start + Math.max(1, size)))
  }
  return parts
}

function write(response: ServerResponse, piece: Buffer): Promise<void> {
  return new Promise((resolve, reject) => response.write(piece, (error) => (error ? reject(error) : resolve())))
}

/** After the write has reached the kernel, so that the client reads what came before the cut. */
function cut(response: ServerResponse, onCut: () => void): void {
  onCut()
  response.socket?.destroy()
}
