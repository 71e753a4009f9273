import { FamiliarError } from '../../../protocol/error.ts'
import { type OpenAiModelReply, openAiModelReplySchema, openAiModelsReplySchema } from '../../../protocol/openai-api.ts'
import { callerOf } from '../guards/token-guard.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'
import { agentModel, embeddingModel } from './openai-model.ts'
import type { OpenAiServices } from './openai-services.ts'

export function createModelRoutes({ modelsOf, embedder }: OpenAiServices): Route[] {
  function names(userId: string): string[] {
    const configured = modelsOf(userId)
      .list()
      .map(({ info }) => info.id)
    return [...new Set([agentModel, ...configured, ...(embedder ? [embeddingModel, embedder.model] : [])])]
  }

  return [
    defineRoute({
      method: 'GET',
      path: '/v1/models',
      summary: 'For OpenAI clients: "familiar" is the agent; under the id of a model it answers with that one.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: openAiModelsReplySchema },
      handle: ({ context }) => jsonReply({ object: 'list', data: names(callerOf(context).userId).map(modelReply) }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/models/:id',
      summary: 'One of them; a slash in its id is written %2F.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: openAiModelReplySchema },
      handle({ context }) {
        const id = context.req.param('id') ?? ''
        if (names(callerOf(context).userId).includes(id)) return jsonReply(modelReply(id))
        throw new FamiliarError('not_found', `There is no model ${JSON.stringify(id.slice(0, 200))}`)
      },
    }),
  ]
}

function modelReply(id: string): OpenAiModelReply {
  const [provider, name] = id.split('/')
  return { id, object: 'model', created: 0, owned_by: name === undefined ? agentModel : (provider ?? '') }
}
