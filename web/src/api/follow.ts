import { ApiError } from './call.ts'

interface SentEvent {
  id: string | undefined
  name: string
  data: unknown
}

/** Server-sent events out of pieces of text, wherever those were cut. Comments and empty events are left out. */
export function createEventReader(): (piece: string) => SentEvent[] {
  let rest = ''
  return (piece) => {
    const blocks = (rest + piece).split('\n\n')
    rest = blocks.pop() ?? ''
    return blocks.flatMap((block) => toEvent(block) ?? [])
  }
}

function toEvent(block: string): SentEvent | undefined {
  let id: string | undefined
  let name = 'message'
  let data: string | undefined
  for (const line of block.split('\n')) {
    if (line.startsWith('id: ')) id = line.slice(4)
    else if (line.startsWith('event: ')) name = line.slice(7)
    else if (line.startsWith('data: ')) data = (data === undefined ? '' : `${data}\n`) + line.slice(6)
  }
  return data === undefined ? undefined : { id, name, data: JSON.parse(data) as unknown }
}

interface Following {
  /** Opens the stream from the current position; called for every new connection. */
  open(): Promise<Response>
  onEvent(event: SentEvent): void
  /** True while connected. */
  onState?(isConnected: boolean): void
  signal: AbortSignal
}

const maxPauseMs = 10_000

/**
 * Follows a stream for as long as the signal lets it: a broken connection is opened again from the current position.
 * Ends when the daemon answers 401 or 404.
 */
export async function follow({ open, onEvent, onState, signal }: Following): Promise<void> {
  let pauseMs = 250
  while (!signal.aborted) {
    try {
      const response = await open()
      pauseMs = 250
      onState?.(true)
      for await (const event of eventsOf(response)) onEvent(event)
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ApiError && (error.status === 401 || error.status === 404)) throw error
    }
    onState?.(false)
    await pause(pauseMs, signal)
    pauseMs = Math.min(pauseMs * 2, maxPauseMs)
  }
}

/** The events of a stream, until it ends. */
export async function* eventsOf(response: Response): AsyncGenerator<SentEvent> {
  const read = createEventReader()
  const pieces = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  for (let next = await pieces?.read(); next && !next.done; next = await pieces?.read()) yield* read(next.value)
}

/** Ends early when the network comes back. */
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
