import { redactStored } from '../../secrets/redact-json.ts'
import type { Redactor } from '../../secrets/redactor.ts'
import { createStreamRedactor } from '../../secrets/stream-redactor.ts'

/** The same answer without secrets. JSON stays JSON; other text is cleaned as it streams. */
export async function redactReply(response: Response, redactor: Redactor): Promise<Response> {
  const { status, statusText, headers, body } = response
  const type = headers.get('content-type') ?? ''
  // Each event is cleaned before it is sent: held back until more comes, the end of one would keep a reader waiting.
  if (!body || type.startsWith('text/event-stream')) return response
  if (type.startsWith('application/json')) {
    return new Response(redactStored(redactor, await response.text()), { status, statusText, headers })
  }
  if (!/^text\/|ndjson|jsonl|xml/.test(type)) return response
  const stream = createStreamRedactor(redactor)
  const cleaned = body.pipeThrough(new TextDecoderStream()).pipeThrough(
    new TransformStream<string, string>({
      transform: (text, controller) => controller.enqueue(stream.push(text)),
      flush: (controller) => controller.enqueue(stream.end()),
    }),
  )
  return new Response(cleaned.pipeThrough(new TextEncoderStream()), { status, statusText, headers })
}
