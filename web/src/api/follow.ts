import { ApiError, send } from './ask.ts'
import { createEventReader, type SentEvent } from './read-events.ts'

export interface Following {
  /** From where; asked again at every new connection. */
  path(): string
  onEvent(event: SentEvent): void
  /** True while connected. */
  onState?(isConnected: boolean): void
  signal: AbortSignal
}

const longestPauseMs = 10_000

/**
 * Follows a stream for as long as the signal lets it: a connection that breaks is made anew, from where the reader is by then.
 * Ends where the daemon says that there is nothing to follow, or that nobody is signed in.
 */
export async function follow({ path, onEvent, onState, signal }: Following): Promise<void> {
  let pauseMs = 250
  while (!signal.aborted) {
    try {
      await readOnce(path(), {
        signal,
        onEvent,
        onOpen() {
          pauseMs = 250
          onState?.(true)
        },
      })
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ApiError && (error.status === 401 || error.status === 404)) throw error
    }
    onState?.(false)
    await pause(pauseMs, signal)
    pauseMs = Math.min(pauseMs * 2, longestPauseMs)
  }
}

async function readOnce(
  path: string,
  { signal, onEvent, onOpen }: Pick<Following, 'signal' | 'onEvent'> & { onOpen(): void },
): Promise<void> {
  const response = await send(path, { headers: { accept: 'text/event-stream' }, signal })
  if (!response.body) return
  onOpen()
  const read = createEventReader()
  const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (let next = await pieces.read(); !next.done; next = await pieces.read()) {
    for (const event of read(next.value)) onEvent(event)
  }
}

/** Also over when the machine wakes up or the network comes back. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      window.removeEventListener('online', done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    window.addEventListener('online', done)
    signal.addEventListener('abort', done)
  })
}
