import { emptyRequestSchema } from '../../../../protocol/api.ts'
import {
  type BuildAnsweredReply,
  type BuildQuestionsReply,
  type BuildStopReply,
  type BuildsReply,
  buildAnsweredReplySchema,
  buildAnswerRequestSchema,
  buildQuestionsReplySchema,
  buildReplySchema,
  buildSecretRequestSchema,
  buildStopReplySchema,
  buildsQuerySchema,
  buildsReplySchema,
} from '../../../../protocol/build-api.ts'
import type { Capabilities } from '../../../../tools/capabilities/capabilities.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpContext } from '../../http-dependencies.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { buildReply, findBuild, questionReply } from './build-reply.ts'

/** Builds, and what they ask. Whoever may speak for the user in a conversation may answer here. */
export function createBuildRoutes({ builds }: Capabilities): Route[] {
  const idOf = (context: HttpContext) => context.req.param('id') ?? ''
  const answered = () => jsonReply({ ok: true } satisfies BuildAnsweredReply)

  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/builds',
      summary: 'Builds, newest first.',
      auth: 'token',
      scope: 'read',
      query: buildsQuerySchema,
      reply: { status: 200, schema: buildsReplySchema },
      async handle({ context, query }) {
        const { name, state, limit } = query
        const wanted = { ...(name !== undefined && { name }), ...(state !== undefined && { state }), limit }
        const list = await builds.list(callerOf(context).userId, wanted)
        return jsonReply({ builds: list.map(buildReply) } satisfies BuildsReply)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/builds/questions',
      summary: 'What builds ask and nobody has answered yet.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: buildQuestionsReplySchema },
      async handle({ context }) {
        const questions = await builds.questions(callerOf(context).userId)
        return jsonReply({ questions: questions.map(questionReply) } satisfies BuildQuestionsReply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/builds/questions/:id',
      summary: 'Answer a question of a build; it goes on by itself. Not for secrets.',
      auth: 'token',
      scope: 'chat',
      body: buildAnswerRequestSchema,
      reply: { status: 200, schema: buildAnsweredReplySchema },
      async handle({ context, body }) {
        await builds.answer(callerOf(context).userId, idOf(context), body.answer)
        return answered()
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/builds/questions/:id/secret',
      summary: 'Give a build the secret that it asks for. It goes into the vault, past the model, and never comes out.',
      auth: 'token',
      scope: 'chat',
      body: buildSecretRequestSchema,
      reply: { status: 200, schema: buildAnsweredReplySchema },
      async handle({ context, body }) {
        await builds.giveSecret(callerOf(context).userId, idOf(context), body.value)
        return answered()
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/builds/:id',
      summary: 'One build.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: buildReplySchema },
      async handle({ context }) {
        return jsonReply(buildReply(await findBuild(builds, context, idOf(context))))
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/builds/:id/stop',
      summary: 'Stop a build. False where it had ended already.',
      auth: 'token',
      scope: 'chat',
      body: emptyRequestSchema,
      reply: { status: 200, schema: buildStopReplySchema },
      async handle({ context }) {
        const build = await findBuild(builds, context, idOf(context))
        const stopped = await builds.stop(build.userId, build.id)
        return jsonReply({ stopped } satisfies BuildStopReply)
      },
    }),
  ]
}
