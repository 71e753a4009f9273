import { FamiliarError } from '../../protocol/errors.ts'
import {
  type OpenAiResponseReply,
  type OpenAiResponseRequest,
  openAi,
  type ResponseContentPart,
  type ResponseItem,
  type ResponseOutputItem,
} from '../../protocol/openai.ts'
import type { SentEvent, StreamReply } from '../chat-replies.ts'
import type { HttpContext, HttpDependencies } from '../dependencies.ts'
import { callerOf } from '../guards.ts'
import { jsonReply } from '../replies.ts'
import { handle, type Route } from '../route.ts'
import type { AskedTurn, BeginTurn } from './begin-turn.ts'
import {
  type AnswerFormat,
  agentModel,
  type ClientList,
  chosenModel,
  encodedFile,
  type ListedFile,
  type ListItem,
  listedContent,
  listedFile,
  type OpenAiServices,
  readTools,
  refuseFileId,
  toClientList,
  toOpenAiError,
} from './client-list.ts'
import { createPastTurns, openAiChannel } from './past-turns.ts'
import {
  type BegunTurn,
  extrasOf,
  type ReplyEvent,
  readResponseId,
  type TurnOver,
  toClientCallId,
  toResponseId,
  turnHeaders,
  usageOf,
  waitForOver,
  watchReply,
} from './watch-reply.ts'

export function createResponseRoutes(
  dependencies: HttpDependencies,
  { services, beginTurn, streamReply }: { services: OpenAiServices; beginTurn: BeginTurn; streamReply: StreamReply },
): Route[] {
  const { conversations } = dependencies
  const pastTurns = createPastTurns(conversations)
  const now = () => Math.floor(dependencies.clock.now() / 1_000)

  function watch(context: HttpContext, body: OpenAiResponseRequest, asked: AskedTurn): Promise<Response> {
    return streamReply(
      callerOf(context).userId,
      async (signal) => {
        const begun = await beginTurn(context, asked)
        const empty = emptyResponse(begun, body, now())
        const events = responseStream(watchReply(dependencies, begun, signal), { empty, begun })
        return { events, headers: turnHeaders(begun) }
      },
      (error) => ({ name: 'error', data: { type: 'error', ...toOpenAiError(error) } }),
    )
  }

  async function locate(context: HttpContext) {
    const { userId } = callerOf(context)
    const id = context.req.param('id') ?? ''
    const place = readResponseId(id)
    const session = place && (await conversations.findSession(userId, place.sessionId))
    const turns = session && session.id === place.sessionId ? await pastTurns(session) : []
    const turn = turns.find(({ messageIds }) => messageIds.includes(place?.messageId ?? ''))
    if (!place || !session || !turn) throw new FamiliarError('not_found', 'There is no such response')
    return { userId, id, place, session, turns, turn }
  }

  return [
    handle(openAi.getResponse, async ({ context, signal }) => {
      const { userId, id, place, session, turn } = await locate(context)
      const begun = { userId, ...place, cursor: id.slice(id.lastIndexOf('_') + 1) }
      const body = { model: session.model ?? agentModel, input: '' } as OpenAiResponseRequest
      const empty = { ...emptyResponse(begun, body, Math.floor(turn.at / 1_000)), id }
      const isOver = turn.outcome !== null || turn.openCalls.size > 0
      return isOver ? wholeResponse(empty, { begun, over: await waitForOver(dependencies, begun, signal) }) : empty
    }),
    // Removes the newest response, and with the first one the whole conversation.
    handle(openAi.deleteResponse, async ({ context }) => {
      const { userId, id, session, turns, turn } = await locate(context)
      if (session.channel !== openAiChannel) {
        throw new FamiliarError(
          'conflict',
          'This response belongs to a conversation of another channel. Rewind it there.',
        )
      }
      if (turn !== turns.at(-1) || turn.isSummarised) {
        throw new FamiliarError('conflict', 'Later responses build on this one. Delete those first.')
      }
      if (turn.outcome === null) {
        await conversations.stop(userId, session.id)
        await conversations.waitForTurn(turn.messageIds[0] ?? '')
      }
      await conversations.rewind(userId, session.id, { turns: 1 })
      if (turns.length === 1) await conversations.reset(userId, { sessionId: session.id })
      return { id, object: 'response', deleted: true } as const
    }),
    handle(openAi.createResponse, async ({ userId, context, body, signal }) => {
      const asked = readRequest(services, userId, body)
      if (body.stream) return watch(context, body, asked)
      const begun = await beginTurn(context, asked)
      const over = await waitForOver(dependencies, begun, signal)
      const reply = wholeResponse(emptyResponse(begun, body, now()), { begun, over })
      return jsonReply(reply, { headers: turnHeaders(begun) })
    }),
  ]
}

function readRequest(services: OpenAiServices, userId: string, body: OpenAiResponseRequest): AskedTurn {
  return {
    list: readResponseInput(body),
    model: chosenModel(services, userId, body.model),
    use: readTools(body.tools ?? [], body.tool_choice),
    format: formatOf(body.text?.format),
    user: body.user,
    previousResponse: body.previous_response_id,
  }
}

function formatOf(format: NonNullable<OpenAiResponseRequest['text']>['format']): AnswerFormat {
  if (!format || format.type === 'text') return { kind: 'text' }
  return { kind: 'json', schema: format.type === 'json_schema' ? format.schema : undefined }
}

/** The input of `/v1/responses`: one message, or a list. */
export function readResponseInput({ input, instructions }: OpenAiResponseRequest): ClientList {
  const items: ListItem[] =
    typeof input === 'string' ? [{ kind: 'user', content: { text: input, files: [] } }] : input.flatMap(toItems)
  const first: ListItem[] = instructions ? [{ kind: 'instructions', text: instructions }] : []
  return toClientList([...first, ...items], 'input')
}

function toItems(item: ResponseItem, index: number): ListItem[] {
  const where = `input.${index}`
  switch (item.type) {
    case 'reasoning':
      return []
    case 'function_call': {
      const { call_id: id, name, arguments: given } = item
      return [{ kind: 'assistant', text: '', calls: [{ id, name, arguments: given }] }]
    }
    case 'function_call_output':
      return [{ kind: 'result', callId: item.call_id, text: contentOf(item.output, `${where}.output`).text }]
    case 'message': {
      const content = contentOf(item.content, `${where}.content`)
      if (item.role === 'user') return [{ kind: 'user', content }]
      if (item.role === 'assistant') return [{ kind: 'assistant', text: content.text, calls: [] }]
      return [{ kind: 'instructions', text: content.text }]
    }
  }
}

function contentOf(content: string | readonly ResponseContentPart[], where: string) {
  return listedContent(content, where, readPart)
}

function readPart(part: ResponseContentPart, where: string): string | ListedFile {
  if (part.type === 'refusal') return part.refusal
  if (part.type === 'input_image') {
    if (part.image_url) return listedFile(part.image_url, { name: 'image', where: `${where}.image_url` })
    return refuseFileId(where)
  }
  if (part.type !== 'input_file') return part.text
  const name = part.filename ?? 'file'
  if (part.file_data) return encodedFile(part.file_data, name)
  return part.file_url ? listedFile(part.file_url, { name, where: `${where}.file_url` }) : refuseFileId(where)
}

/** A response without its text so far. */
function emptyResponse(begun: BegunTurn, body: OpenAiResponseRequest, createdAt: number): OpenAiResponseReply {
  return {
    id: toResponseId(begun),
    object: 'response',
    created_at: createdAt,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    metadata: {},
    model: body.model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: body.previous_response_id ?? null,
    temperature: null,
    top_p: null,
    tool_choice: 'auto',
    tools: [],
    usage: null,
    familiar: { session_id: begun.sessionId, turn_id: '', cost_usd: null },
  }
}

function wholeResponse(
  empty: OpenAiResponseReply,
  {
    begun,
    over,
    output = over.type === 'asks' ? callItems(begun, over) : [messageItem(empty.id, over.text)],
  }: { begun: BegunTurn; over: TurnOver; output?: ResponseOutputItem[] },
): OpenAiResponseReply {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usageOf(over)
  return {
    ...empty,
    status: 'completed',
    output,
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: inputTokens + outputTokens,
    },
    familiar: extrasOf(begun, over),
  }
}

function messageItem(responseId: string, text: string): Extract<ResponseOutputItem, { type: 'message' }> {
  return {
    type: 'message',
    id: responseId.replace('resp_', 'msg_'),
    role: 'assistant',
    status: 'completed',
    content: [textPart(text)],
  }
}

function textPart(text: string) {
  return { type: 'output_text' as const, text, annotations: [], logprobs: [] }
}

function callItems(
  { sessionId }: BegunTurn,
  { calls }: Extract<TurnOver, { type: 'asks' }>,
): Extract<ResponseOutputItem, { type: 'function_call' }>[] {
  return calls.map(({ id, name, arguments: given }) => ({
    type: 'function_call',
    id: `fc_${id}`,
    call_id: toClientCallId(sessionId, id),
    name,
    arguments: JSON.stringify(given),
    status: 'completed',
  }))
}

interface ResponseEvent {
  type: string
  [field: string]: unknown
}

/** The numbered events of one response. Each item is opened before it is filled and closed before the next. */
async function* responseStream(...response: Parameters<typeof responseEvents>): AsyncGenerator<SentEvent> {
  let sequence = 0
  for await (const event of responseEvents(...response)) {
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
    const calls = event.type === 'asks' ? callItems(begun, event) : []
    for (const [index, call] of calls.entries()) yield* callEvents(call, said.length + index)
    const response = wholeResponse(empty, { begun, over: event, output: [...said, ...calls] })
    yield { type: 'response.completed', response }
  }
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
