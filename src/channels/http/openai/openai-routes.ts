import type { HttpDependencies } from '../http-dependencies.ts'
import type { Route } from '../route.ts'
import type { StreamReply } from '../stream-reply.ts'
import { createBeginTurn } from './begin-turn.ts'
import { createCompletionRoutes } from './completion-routes.ts'
import { createEmbeddingRoutes } from './embedding-routes.ts'
import { createModelRoutes } from './model-routes.ts'
import type { OpenAiServices } from './openai-services.ts'
import { createResponseRoutes } from './response-routes.ts'

/** What clients of OpenAI's API call (HTTP-5). */
export function createOpenAiRoutes(
  dependencies: HttpDependencies,
  services: OpenAiServices,
  streamReply: StreamReply,
): Route[] {
  const parts = { services, beginTurn: createBeginTurn(dependencies, services), streamReply }
  return [
    ...createCompletionRoutes(dependencies, parts),
    ...createResponseRoutes(dependencies, parts),
    ...createModelRoutes(services),
    ...createEmbeddingRoutes(services),
  ]
}
