import {
  type BuildEvent,
  type BuildEventsReply,
  buildEventsQuerySchema,
  buildEventsReplySchema,
  builderStatusQuerySchema,
} from '../../../../protocol/build-api.ts'
import { FamiliarError } from '../../../../protocol/error.ts'
import type { Build } from '../../../../tools/capabilities/builds/builds.ts'
import type { Capabilities } from '../../../../tools/capabilities/capabilities.ts'
import type { SentEvent } from '../../event-stream-reply.ts'
import type { HttpContext } from '../../http-dependencies.ts'
import { commonHeaders, jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import type { StreamReply } from '../../stream-reply.ts'
import { wantsEvents } from '../../wants-events.ts'
import { findBuild } from './build-reply.ts'

/** A build as it goes, from any cursor on: whoever comes back misses nothing and sees nothing twice (CAP-7). */
export function createBuildEventRoutes({ builds }: Capabilities, streamReply: StreamReply): Route[] {
  async function watch(build: Build, after: number, dataOf: (event: BuildEvent) => object): Promise<Response> {
    const from = { userId: build.userId, buildId: build.id, after }
    // A browser that has seen the end comes back for more again and again, until it is told that there is none.
    if (build.state !== 'running' && after > 0 && (await builds.eventsSoFar(from)).length === 0) {
      return new Response(null, { status: 204, headers: commonHeaders })
    }
    return streamReply(build.userId, async (signal) => {
      return { events: toSentEvents(builds.events({ ...from, signal }), dataOf) }
    })
  }

  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/builds/:id/events',
      summary:
        'What a build did so far, from a cursor on; with "Accept: text/event-stream" also what comes, to its end.',
      auth: 'token',
      scope: 'read',
      query: buildEventsQuerySchema,
      reply: { status: 200, schema: buildEventsReplySchema, events: true },
      async handle({ context, query }) {
        const build = await findBuild(builds, context, context.req.param('id') ?? '')
        const after = cursorOf(context) ?? query.after ?? 0
        if (!wantsEvents(context)) {
          const events = await builds.eventsSoFar({ userId: build.userId, buildId: build.id, after })
          return jsonReply({ events } satisfies BuildEventsReply)
        }
        refuseHead(context)
        return watch(build, after, (event) => event)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/builder/status',
      summary: 'The same for clients that name the build in the query and read messages of a type and its payload.',
      auth: 'token',
      scope: 'read',
      query: builderStatusQuerySchema,
      reply: { status: 200, events: true },
      async handle({ context, query }) {
        refuseHead(context)
        return watch(await findBuild(builds, context, query.buildId), cursorOf(context) ?? 0, plainMessage)
      },
    }),
  ]
}

/**
 * All under the standard's own name for an event: under theirs, the `error` of a build could not be told from that of the
 * stream, which browsers and our own client raise by themselves.
 */
async function* toSentEvents(
  events: AsyncIterable<BuildEvent>,
  dataOf: (event: BuildEvent) => object,
): AsyncGenerator<SentEvent> {
  for await (const event of events) yield { id: String(event.seq), name: 'message', data: dataOf(event) }
}

function plainMessage({ type, build_id: _build, seq: _seq, at: _at, ...payload }: BuildEvent): object {
  return { type, ...payload }
}

/** What a client that reconnects has seen last. */
function cursorOf(context: HttpContext): number | undefined {
  const header = context.req.header('last-event-id')
  if (header === undefined || header === '') return undefined
  if (/^\d{1,15}$/.test(header)) return Number(header)
  throw new FamiliarError('bad_request', 'Last-Event-ID: must be the number of an event')
}

/** Answered as a GET whose body is thrown away, and a stream that nobody reads would stay open. */
function refuseHead(context: HttpContext): void {
  if (context.req.method === 'HEAD') throw new FamiliarError('bad_request', 'A stream has no HEAD')
}
