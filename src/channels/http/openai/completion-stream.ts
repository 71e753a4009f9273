import type { SentEvent } from '../event-stream-reply.ts'
import type { BegunTurn } from './begun-turn.ts'
import { type CompletionHead, completionCalls, completionUsage, extrasOf, finishReason } from './completion-reply.ts'
import type { ReplyEvent, TurnOver } from './watch-reply.ts'

/** The pieces of `chat.completion.chunk`, in OpenAI's order: who speaks, what is said, why it ends, what it took, the end. */
export async function* completionStream(
  events: AsyncIterable<ReplyEvent>,
  options: { head: CompletionHead; begun: BegunTurn; includeUsage: boolean; includeThinking: boolean },
): AsyncGenerator<SentEvent> {
  const { head, begun, includeUsage, includeThinking } = options

  function chunk(delta: object, over?: TurnOver): SentEvent {
    const choice = { index: 0, delta, logprobs: null, finish_reason: over ? finishReason(over) : null }
    return piece({ choices: [choice], ...(includeUsage && { usage: null }), ...(over && extras(over)) })
  }

  function piece(more: object): SentEvent {
    return { data: { ...head, object: 'chat.completion.chunk', ...more } }
  }

  function extras(over: TurnOver): object {
    return { familiar: extrasOf(begun, over) }
  }

  yield chunk({ role: 'assistant', content: '', refusal: null })
  for await (const event of events) {
    if (event.type === 'text') yield chunk({ content: event.text })
    else if (event.type === 'thinking') {
      if (includeThinking) yield chunk({ reasoning_content: event.text })
    } else {
      if (event.type === 'asks') {
        yield chunk({ tool_calls: completionCalls(begun, event).map((call, index) => ({ index, ...call })) })
      }
      yield chunk({}, event)
      if (includeUsage) yield piece({ choices: [], usage: completionUsage(event), ...extras(event) })
      yield { data: '[DONE]' }
    }
  }
}
