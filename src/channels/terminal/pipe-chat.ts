import { createInterface } from 'node:readline'
import { addAbortSignal, type Readable } from 'node:stream'
import { toDisplayText } from '../../base/text.ts'
import type { StreamedEvent, TurnOutcome } from '../../protocol/event.ts'
import type { ChatPartner } from './chat-partner.ts'

/**
 * Chat without a terminal: every line that is not empty is a message, answered before the next is read; only the replies
 * are written. True where every turn came to a good end.
 */
export async function runPipeChat(options: {
  input: Readable
  write(text: string): void
  partner: ChatPartner
  /** All of the input is one message. */
  once: boolean
  /** Told every event, in place of writing the replies. */
  onEvent?: (event: StreamedEvent) => void
  /** Stops the running turn and reads no further. */
  signal: AbortSignal
}): Promise<boolean> {
  const { input, write, partner, once, onEvent, signal } = options
  signal.addEventListener('abort', () => void partner.stop().catch(() => undefined), { once: true })
  let isFine = true
  const texts = once
    ? wholeOf(addAbortSignal(signal, input))
    : createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY, signal })
  for await (const text of texts) {
    if (signal.aborted) break
    if (text.trim() === '') continue
    for await (const streamed of partner.say(text)) {
      onEvent?.(streamed)
      const { event } = streamed
      if (event.type === 'turn_end') isFine &&= isGood(event.outcome)
      if (event.type === 'response' && event.deliver && !onEvent) write(`${toDisplayText(event.text)}\n`)
    }
  }
  return isFine
}

function isGood(outcome: TurnOutcome): boolean {
  return outcome === 'completed' || outcome === 'question'
}

async function* wholeOf(input: Readable): AsyncGenerator<string> {
  const chunks: Buffer[] = []
  for await (const chunk of input) chunks.push(Buffer.from(chunk))
  yield Buffer.concat(chunks).toString()
}
