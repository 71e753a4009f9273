import {
  type ChatCompletionRequest,
  chatCompletionReplySchema,
  chatCompletionRequestSchema,
} from '../../../protocol/openai-api.ts'
import { callerOf } from '../guards/token-guard.ts'
import type { HttpContext, HttpDependencies } from '../http-dependencies.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'
import type { StreamReply } from '../stream-reply.ts'
import type { AskedTurn, BeginTurn } from './begin-turn.ts'
import { readTools } from './client-tools.ts'
import { type CompletionHead, completionReply } from './completion-reply.ts'
import { completionStream } from './completion-stream.ts'
import type { AnswerFormat } from './message-text.ts'
import { toOpenAiError } from './openai-errors.ts'
import { chosenModel } from './openai-model.ts'
import type { OpenAiServices } from './openai-services.ts'
import { readMessages } from './read-messages.ts'
import { turnHeaders, wantsThinking } from './turn-headers.ts'
import { waitForOver, watchReply } from './watch-reply.ts'

export function createCompletionRoutes(
  dependencies: HttpDependencies,
  { services, beginTurn, streamReply }: { services: OpenAiServices; beginTurn: BeginTurn; streamReply: StreamReply },
): Route[] {
  function headOf(id: string, model: string): CompletionHead {
    return { id: `chatcmpl-${id}`, created: Math.floor(dependencies.clock.now() / 1_000), model }
  }

  async function watch(context: HttpContext, body: ChatCompletionRequest, asked: AskedTurn): Promise<Response> {
    return streamReply(
      callerOf(context).userId,
      async (signal) => {
        const begun = await beginTurn(context, asked)
        const events = completionStream(watchReply(dependencies, begun, signal), {
          head: headOf(begun.messageId, body.model),
          begun,
          includeUsage: body.stream_options?.include_usage ?? false,
          includeThinking: wantsThinking(context),
        })
        return { events, headers: turnHeaders(begun) }
      },
      (error) => ({ data: toOpenAiError(error) }),
    )
  }

  return [
    defineRoute({
      method: 'POST',
      path: '/v1/chat/completions',
      summary: 'For OpenAI clients: the answer to the newest message of their list, whole or as it comes.',
      auth: 'token',
      scope: 'chat',
      body: chatCompletionRequestSchema,
      attachments: true,
      reply: { status: 200, schema: chatCompletionReplySchema, events: true },
      async handle({ context, body }) {
        const asked = readRequest(services, callerOf(context).userId, body)
        if (body.stream) return watch(context, body, asked)
        const begun = await beginTurn(context, asked)
        const over = await waitForOver(dependencies, begun, context.req.raw.signal)
        const reply = completionReply(headOf(begun.messageId, body.model), begun, over)
        return jsonReply(reply, { headers: turnHeaders(begun) })
      },
    }),
  ]
}

function readRequest(services: OpenAiServices, userId: string, body: ChatCompletionRequest): AskedTurn {
  const { tool_choice: choice } = body
  const offered = (body.tools ?? []).map((tool) => tool.function)
  return {
    list: readMessages(body.messages),
    model: chosenModel(services, userId, body.model),
    use: readTools(offered, choice && typeof choice === 'object' ? choice.function : choice),
    format: formatOf(body.response_format),
    user: body.user,
  }
}

function formatOf(format: ChatCompletionRequest['response_format']): AnswerFormat {
  if (!format || format.type === 'text') return { kind: 'text' }
  return { kind: 'json', schema: format.type === 'json_schema' ? format.json_schema.schema : undefined }
}
