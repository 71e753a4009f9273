import {
  type OpenAiResponseRequest,
  openAiResponseReplySchema,
  openAiResponseRequestSchema,
} from '../../../protocol/openai-responses-api.ts'
import { callerOf } from '../guards/token-guard.ts'
import type { HttpContext, HttpDependencies } from '../http-dependencies.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'
import type { StreamReply } from '../stream-reply.ts'
import type { AskedTurn, BeginTurn } from './begin-turn.ts'
import { readTools } from './client-tools.ts'
import type { AnswerFormat } from './message-text.ts'
import { toOpenAiError } from './openai-errors.ts'
import { chosenModel } from './openai-model.ts'
import type { OpenAiServices } from './openai-services.ts'
import { readInput } from './read-input.ts'
import { callItems, emptyResponse, messageItem, wholeResponse } from './response-reply.ts'
import { responseStream } from './response-stream.ts'
import { turnHeaders } from './turn-headers.ts'
import { waitForOver, watchReply } from './watch-reply.ts'

export function createResponseRoutes(
  dependencies: HttpDependencies,
  { services, beginTurn, streamReply }: { services: OpenAiServices; beginTurn: BeginTurn; streamReply: StreamReply },
): Route[] {
  const now = () => Math.floor(dependencies.clock.now() / 1_000)

  async function watch(context: HttpContext, body: OpenAiResponseRequest, asked: AskedTurn): Promise<Response> {
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

  async function wait(context: HttpContext, body: OpenAiResponseRequest, asked: AskedTurn): Promise<Response> {
    const begun = await beginTurn(context, asked)
    const over = await waitForOver(dependencies, begun, context.req.raw.signal)
    const empty = emptyResponse(begun, body, now())
    const output = over.type === 'asks' ? callItems(begun, over) : [messageItem(empty.id, over.text)]
    return jsonReply(wholeResponse(empty, { begun, over, output }), { headers: turnHeaders(begun) })
  }

  return [
    defineRoute({
      method: 'POST',
      path: '/v1/responses',
      summary:
        'For OpenAI clients: the answer to an input, whole or as it comes; previous_response_id goes on from one.',
      auth: 'token',
      scope: 'chat',
      body: openAiResponseRequestSchema,
      attachments: true,
      reply: { status: 200, schema: openAiResponseReplySchema, events: true },
      async handle({ context, body }) {
        const asked = readRequest(services, callerOf(context).userId, body)
        return body.stream ? watch(context, body, asked) : wait(context, body, asked)
      },
    }),
  ]
}

function readRequest(services: OpenAiServices, userId: string, body: OpenAiResponseRequest): AskedTurn {
  return {
    list: readInput(body),
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
