import type { OpenAiResponseReply, ResponseOutputItem } from '../../../protocol/openai-responses-api.ts'
import type { SentEvent } from '../event-stream-reply.ts'
import type { BegunTurn } from './begun-turn.ts'
import { callItems, messageItem, textPart, wholeResponse } from './response-reply.ts'
import type { ReplyEvent, TurnOver } from './watch-reply.ts'

interface ResponseEvent {
  type: string
  [field: string]: unknown
}

/** The events of one response, numbered, each item opened before it is filled and closed before the next. */
export async function* responseStream(
  events: AsyncIterable<ReplyEvent>,
  { empty, begun }: { empty: OpenAiResponseReply; begun: BegunTurn },
): AsyncGenerator<SentEvent> {
  let sequence = 0
  for await (const event of responseEvents(events, { empty, begun })) {
    yield { name: event.type, data: { ...event, sequence_number: sequence } }
    sequence += 1
  }
}

async function* responseEvents(
  events: AsyncIterable<ReplyEvent>,
  { empty, begun }: { empty: OpenAiResponseReply; begun: BegunTurn },
): AsyncGenerator<ResponseEvent> {
  yield { type: 'response.created', response: empty }
  yield { type: 'response.in_progress', response: empty }
  let text = ''
  for await (const event of events) {
    if (event.type === 'thinking') continue
    if (event.type === 'text') {
      if (text === '') yield* openMessage(empty.id)
      text += event.text
      yield { type: 'response.output_text.delta', ...placeOf(empty.id), delta: event.text, logprobs: [] }
      continue
    }
    const said = text === '' && event.type === 'asks' ? [] : [messageItem(empty.id, text)]
    if (said.length > 0) {
      if (text === '') yield* openMessage(empty.id)
      yield* closeMessage(empty.id, text)
    }
    const calls = callsOf(begun, event)
    for (const [index, call] of calls.entries()) yield* callEvents(call, said.length + index)
    const response = wholeResponse(empty, { begun, over: event, output: [...said, ...calls] })
    yield { type: 'response.completed', response }
  }
}

function callsOf(begun: BegunTurn, over: TurnOver): Extract<ResponseOutputItem, { type: 'function_call' }>[] {
  return over.type === 'asks' ? callItems(begun, over) : []
}

function placeOf(responseId: string) {
  return { item_id: messageItem(responseId, '').id, output_index: 0, content_index: 0 }
}

function* openMessage(responseId: string): Generator<ResponseEvent> {
  const item = { ...messageItem(responseId, ''), status: 'in_progress', content: [] }
  yield { type: 'response.output_item.added', output_index: 0, item }
  yield { type: 'response.content_part.added', ...placeOf(responseId), part: textPart('') }
}

function* closeMessage(responseId: string, text: string): Generator<ResponseEvent> {
  yield { type: 'response.output_text.done', ...placeOf(responseId), text, logprobs: [] }
  yield { type: 'response.content_part.done', ...placeOf(responseId), part: textPart(text) }
  yield { type: 'response.output_item.done', output_index: 0, item: messageItem(responseId, text) }
}

function* callEvents(
  call: Extract<ResponseOutputItem, { type: 'function_call' }>,
  index: number,
): Generator<ResponseEvent> {
  const place = { item_id: call.id, output_index: index }
  const { name, arguments: given } = call
  const opened = { ...call, arguments: '', status: 'in_progress' }
  yield { type: 'response.output_item.added', output_index: index, item: opened }
  yield { type: 'response.function_call_arguments.delta', ...place, delta: given }
  yield { type: 'response.function_call_arguments.done', ...place, name, arguments: given }
  yield { type: 'response.output_item.done', output_index: index, item: call }
}
