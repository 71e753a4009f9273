import { EgressError } from './egress-error.ts'

/**
 * The same response, whose body breaks off with an error past `maxBytes` (counted after decompression). `onEnd` is called
 * when the last byte was read; where there is none to read, at once.
 */
export function limitBody(response: Response, limits: { maxBytes: number; onEnd: () => void }): Response {
  const { maxBytes, onEnd } = limits
  const announced = Number(response.headers.get('content-length') ?? 0)
  if (announced > maxBytes) {
    response.body?.cancel().catch(() => {})
    throw tooLarge(maxBytes)
  }
  if (!response.body) {
    onEnd()
    return response
  }
  let received = 0
  const counted = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        received += chunk.byteLength
        if (received > maxBytes) controller.error(tooLarge(maxBytes))
        else controller.enqueue(chunk)
      },
      flush: onEnd,
    }),
  )
  const { status, statusText, headers } = response
  const limited = new Response(counted, { status, statusText, headers })
  return Object.defineProperty(limited, 'url', { value: response.url })
}

function tooLarge(maxBytes: number): EgressError {
  return new EgressError('too_large', `The answer is larger than ${maxBytes} bytes`)
}
