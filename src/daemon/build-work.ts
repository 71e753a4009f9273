import type { Conversations } from '../agent/conversations.ts'
import { builderChannel } from '../sessions/work-channels.ts'
import type { Database } from '../storage/database.ts'
import type { Build, BuildWork } from '../tools/capabilities/builds/builds.ts'

/** Builds as sessions of the one loop: a build is a message to the Builder, and its turn is the work. */
export function createBuildWork({
  conversations,
  database,
}: {
  conversations: Conversations
  database: Database
}): BuildWork {
  async function find({ id, userId }: Build) {
    return database.read
      .selectFrom('sessions')
      .leftJoin('inbox', (join) => join.onRef('inbox.session_id', '=', 'sessions.id').on('inbox.state', '!=', 'done'))
      .select(['sessions.id as sessionId', 'inbox.id as openMessage'])
      .where('sessions.user_id', '=', userId)
      .where('sessions.channel', '=', builderChannel)
      .where('sessions.contact', '=', id)
      .where('sessions.state', '=', 'active')
      .executeTakeFirst()
  }

  return {
    async begin(build, text) {
      await conversations.submit({
        userId: build.userId,
        channel: builderChannel,
        contact: build.id,
        sender: 'familiar',
        source: builderChannel,
        text,
        media: [],
        // The same build again is the same message.
        key: `build:${build.id}`,
        immediate: true,
        metadata: {},
        label: build.request.seen.untrusted ? 'untrusted' : 'internal',
      })
    },
    async stop(build) {
      const session = await find(build)
      if (session) await conversations.stop(build.userId, session.sessionId)
    },
    async state(build) {
      const session = await find(build)
      if (!session) return 'unbegun'
      return session.openMessage === null ? 'over' : 'alive'
    },
  }
}
