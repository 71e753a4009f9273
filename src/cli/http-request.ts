import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { CommandError, exitCodes } from './command-error.ts'

/** Text, or bytes as they come. */
export type RequestBody = string | AsyncIterable<Uint8Array>

/**
 * One request to a Familiar on this machine. Rejects with exit code 3 where nobody answers or the line breaks.
 * Not `fetch`: that gives up on an answer after five minutes, and a turn may take an hour.
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
    // A connection of its own: one that is kept open would hold up the end of a Familiar in this same process.
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

/** As fast as the other side takes it. One that has answered already may take no more of it. */
async function sendBody(outgoing: ClientRequest, body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of body) {
    if (outgoing.destroyed) return
    if (!outgoing.write(chunk)) await Promise.race([once(outgoing, 'drain'), once(outgoing, 'close')])
  }
  outgoing.end()
}

/** The bytes of an answer as they come; a broken line is told the same way as one that never stood. */
export async function* readBody(response: IncomingMessage, url: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of response) yield chunk as Uint8Array
  } catch (cause) {
    throw isAbort(cause) ? cause : unreachable(url, cause)
  }
}

export async function readText(response: IncomingMessage, url: string): Promise<string> {
  return Buffer.concat(await Array.fromAsync(readBody(response, url))).toString()
}

export function unreachable(url: string, cause: unknown): CommandError {
  const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause)
  return new CommandError(`Familiar at ${new URL(url).origin} does not answer (${reason}).`, {
    exitCode: exitCodes.unreachable,
    code: 'unreachable',
    hint: 'If it has just been stopped or is starting, try again; "familiar doctor" says what is wrong.',
    cause,
  })
}

function isAbort(cause: unknown): boolean {
  return cause instanceof Error && cause.name === 'AbortError'
}
