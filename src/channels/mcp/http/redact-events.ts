import { redactStored } from '../../../secrets/redact-json.ts'
import type { Redactor } from '../../../secrets/redactor.ts'

/** An event stream without secrets: each event is cleaned as a whole and passed on at once (SEC-13). */
export function redactEvents(redactor: Pick<Redactor, 'redact'>): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder()
  let rest = ''
  return new TransformStream({
    transform(chunk, controller) {
      rest += decoder.decode(chunk, { stream: true })
      const events = rest.split('\n\n')
      rest = events.pop() ?? ''
      for (const event of events) controller.enqueue(Buffer.from(`${cleaned(event)}\n\n`))
    },
    flush(controller) {
      if (rest !== '') controller.enqueue(Buffer.from(cleaned(rest)))
    },
  })

  function cleaned(event: string): string {
    return event
      .split('\n')
      .map((line) => (line.startsWith('data: ') ? `data: ${redactStored(redactor, line.slice(6))}` : line))
      .join('\n')
  }
}
