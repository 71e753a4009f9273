import { type FloodGate, largestMessageBytes } from './flood-gate.ts'

const newline = 0x0a
const carriageReturn = 0x0d

/**
 * The same answer, which breaks off where a message in it is too large or there are too many; `onTooMuch` is told why. A
 * stream of events may be as long as the connection lives: what is limited is each event, and how many come.
 */
export function limitAnswer(response: Response, gate: FloodGate, onTooMuch: (reason: string) => void): Response {
  if (!response.body) return response
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  let size = 0
  let last = 0
  const limited = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        let events = 0
        if (!isStream) size += chunk.length
        else {
          for (const byte of chunk) {
            if (byte === carriageReturn) continue
            size += 1
            // An empty line ends an event.
            if (byte === newline && last === newline) {
              events += 1
              size = 0
            }
            last = byte
          }
        }
        const isFlood = !gate.take({ messages: events, bytes: chunk.length })
        if (!isFlood && size <= largestMessageBytes) return controller.enqueue(chunk)
        const reason = isFlood
          ? 'it floods: nobody could read that much'
          : `it sends a message of more than ${largestMessageBytes} bytes`
        controller.error(new Error(reason))
        return onTooMuch(reason)
      },
    }),
  )
  const { status, statusText, headers } = response
  return Object.defineProperty(new Response(limited, { status, statusText, headers }), 'url', { value: response.url })
}
