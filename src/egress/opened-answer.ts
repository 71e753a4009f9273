import type { Agent, Dispatcher } from 'undici'

/** An answer whose body is still to be read: what `fetch` gives, without what a stream of a model has no use for. */
export interface OpenedAnswer {
  status: number
  statusText: string
  headers: Record<string, string>
  /** The next bytes, undefined after the last. Throws where the connection broke or the signal aborted. */
  read(): Promise<Uint8Array | undefined>
  /** Whoever does not read to the end calls this. The connection is closed then, else it is kept. */
  cancel(): void
}

/** What to send. A string is the only body, so that a redirect can send it again. */
export interface OpenInit {
  method: string
  headers: Record<string, string>
  body?: string | null
  signal: AbortSignal
}

/** Bytes that wait for a reader before the server is asked to pause. */
const mostWaiting = 256 * 1024
// As fetch sends them. Packed answers are not asked for: nothing here unpacks them.
const usualHeaders = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'undici' }

/** One request through an agent. Rejects with the reason of the signal, or with the error of the connection. */
export function openAnswer(agent: Agent, url: URL, { method, headers, body, signal }: OpenInit): Promise<OpenedAnswer> {
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
        if (packed && packed !== 'identity') return stop(new Error(`The answer is packed (${packed}), unasked`))
        bytes.onRoom = () => started.resume()
        const cancel = () => stop(new Error('The reader has left'))
        resolve({ status, statusText, headers: joined(received), read: bytes.read, cancel })
      },
      onResponseData(started, chunk) {
        if (bytes.add(chunk) > mostWaiting) started.pause()
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
    /** Called when a reader has taken what was waiting. */
    onRoom: () => {},
    /** How many bytes are waiting now. */
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
    /** After the end nothing fails any more. */
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
