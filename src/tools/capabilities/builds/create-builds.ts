import type { Clock } from '../../../base/clock.ts'
import type { Ids } from '../../../base/ids.ts'
import type { Logger } from '../../../base/logger.ts'
import { toStorableText } from '../../../base/text.ts'
import type { Wakeups } from '../../../base/wakeups.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { Vault } from '../../../secrets/vault.ts'
import { builderChannel } from '../../../sessions/work-channels.ts'
import type { Database, Writer } from '../../../storage/database.ts'
import { firstMessage } from '../builder/first-message.ts'
import type { CapabilityCatalog } from '../catalog/catalog.ts'
import { appendEventIn, type BuildEventBody, hasEventIn, hasSeenForeignWords, readEvents } from './build-events.ts'
import { createBuildLives } from './build-life.ts'
import { endLine, questionLine } from './build-news.ts'
import { createBuildQuestions } from './build-questions.ts'
import { isRunningIn, selectBuilds, toBuild } from './build-row.ts'
import type { OnBuildStep } from './build-step.ts'
import type { BuilderDesk } from './builder-desk.ts'
import type { Build, Builds, BuildWork } from './builds.ts'
import { endBuildIn } from './end-build.ts'
import { anyBuild, wakeBuild } from './listen-to-build.ts'
import { readServedFiles } from './served-files.ts'
import { streamBuildEvents } from './stream-build-events.ts'
import { writeBuildIn } from './write-build.ts'

const usualLifeMs = 10 * 60_000
const mostListed = 100
const longestMessage = 2_000

/** Builds over their tables. What a build does is a loop of the agent's, which `work` begins and ends. */
export function createBuilds(dependencies: {
  database: Database
  catalog: CapabilityCatalog
  vault: Pick<Vault, 'set' | 'names'>
  work: BuildWork
  clock: Clock
  ids: Ids
  wakeups: Wakeups
  logger: Logger
  /** How long a build may work, ten minutes where nothing is said. The time that the user was waited for does not count. */
  lifeMs?(): number
  onStep?: OnBuildStep
}): Builds & BuilderDesk {
  const { database, catalog, work, clock, ids, wakeups, logger, onStep = () => {} } = dependencies
  const { lifeMs = () => usualLifeMs } = dependencies
  const questions = createBuildQuestions({ ...dependencies, onStep })
  /** Users for whom nothing is built and nothing is left to tell: the next turn need not look. */
  const quiet = new Set<string>()
  const lives = createBuildLives({
    read: database.read,
    clock,
    lifeMs,
    onOver: giveUp,
    onError: (error) => logger.error('a build could not be ended in time', { error }),
  })

  async function find(buildId: string): Promise<Build | undefined> {
    const row = await selectBuilds(database.read).where('builds.id', '=', buildId).executeTakeFirst()
    return row && toBuild(row)
  }

  async function findOf(userId: string, buildId: string): Promise<Build | undefined> {
    const build = await find(buildId)
    return build?.userId === userId ? build : undefined
  }

  async function need(userId: string, buildId: string): Promise<Build> {
    const build = await findOf(userId, buildId)
    if (!build) throw new FamiliarError('not_found', `There is no build ${buildId.slice(0, 120)}`)
    return build
  }

  function append(writer: Writer, build: Pick<Build, 'id'>, body: BuildEventBody): Promise<void> {
    return appendEventIn(writer, { buildId: build.id, at: clock.now(), body })
  }

  async function fail(build: Build, state: 'failed' | 'stopped', reason: string): Promise<boolean> {
    const error = toStorableText(reason).trim().slice(0, longestMessage) || 'It did not say why.'
    const hasEnded = await database.write(async (writer) => {
      if (!(await endBuildIn(writer, build, { state, error, now: clock.now() }))) return false
      await append(writer, build, { type: 'error', message: error })
      await catalog.endBuildIn(writer, { capabilityId: build.capabilityId, problem: error })
      return true
    })
    if (!hasEnded) return false
    onStep('end_written')
    lives.end(build.id)
    await catalog.refresh(build.capabilityId)
    wakeBuild(wakeups, build.id)
    logger.info('a build has ended without a version', {
      build: build.id,
      capability: build.name,
      state,
      reason: error,
    })
    return true
  }

  /** Its end is written first: whatever the loop does meanwhile, it registers nothing any more. */
  async function failAndStop(build: Build, state: 'failed' | 'stopped', reason: string): Promise<boolean> {
    if (!(await fail(build, state, reason))) return false
    await work.stop(build)
    return true
  }

  async function giveUp(buildId: string): Promise<void> {
    const build = await find(buildId)
    if (build) await failAndStop(build, 'failed', `${Math.round(lifeMs() / 60_000)} minutes were not enough for it.`)
  }

  async function begin(build: Build): Promise<void> {
    await work.begin(build, firstMessage(build))
    onStep('build_begun')
    lives.begin(build.id)
  }

  async function takeUp(build: Build): Promise<void> {
    switch (await work.state(build)) {
      case 'unbegun':
        return begin(build)
      case 'alive':
        return lives.begin(build.id)
      case 'over':
        await fail(build, 'failed', 'It was cut off when Familiar stopped.')
    }
  }

  return {
    ...questions,
    onChange: (listener) => wakeups.on(anyBuild, listener),
    async recover() {
      const running = await selectBuilds(database.read).where('builds.state', '=', 'running').execute()
      for (const build of running.map(toBuild)) {
        try {
          await takeUp(build)
        } catch (cause) {
          logger.error('a build could not be taken up', { build: build.id, error: cause })
          await fail(build, 'failed', 'It could not be taken up after a restart.')
        }
      }
      // Its end may have been written, and the loop not have heard of it.
      const ended = await selectBuilds(database.read)
        .where('builds.state', '!=', 'running')
        .orderBy('builds.ended_at', 'desc')
        .limit(mostListed)
        .execute()
      for (const build of ended.map(toBuild)) if ((await work.state(build)) === 'alive') await work.stop(build)
    },

    async request(wanted) {
      const files = wanted.kind === 'repair' ? await readServedFiles(catalog, wanted.userId, wanted.name) : undefined
      const { build, isNew } = await database.write((writer) =>
        writeBuildIn(writer, { wanted, files, id: ids.next(), now: clock.now(), catalog }),
      )
      if (!isNew) return build
      quiet.delete(wanted.userId)
      onStep('build_written')
      await catalog.refresh(build.capabilityId)
      wakeBuild(wakeups, build.id)
      try {
        await begin(build)
      } catch (cause) {
        await fail(build, 'failed', `It could not begin: ${cause instanceof Error ? cause.message : String(cause)}`)
        throw cause
      }
      return build
    },

    async ended(buildId, { isStopped, reason }) {
      const build = await find(buildId)
      if (build) await fail(build, isStopped ? 'stopped' : 'failed', reason)
    },
    async stop(userId, buildId) {
      return failAndStop(await need(userId, buildId), 'stopped', 'It was stopped.')
    },
    find: findOf,
    async list(userId, { name, state, limit = mostListed } = {}) {
      let query = selectBuilds(database.read).where('builds.user_id', '=', userId)
      if (name !== undefined) query = query.where('capabilities.name', '=', name)
      if (state !== undefined) query = query.where('builds.state', '=', state)
      const rows = await query.orderBy('builds.created_at', 'desc').orderBy('builds.id', 'desc').limit(limit).execute()
      return rows.map(toBuild)
    },
    async eventsSoFar({ userId, buildId, after }) {
      await need(userId, buildId)
      return readEvents(database.read, buildId, after)
    },
    async *events({ userId, buildId, after, signal }) {
      await need(userId, buildId)
      yield* streamBuildEvents({ database, wakeups }, { buildId, after, signal })
    },

    async news({ userId, sessionId }) {
      if (quiet.has(userId)) return { lines: [], builds: [], isUntrusted: false }
      const rows = await selectBuilds(database.read)
        .where('builds.user_id', '=', userId)
        .where('builds.is_told', '=', 0)
        // One that nobody asked for in a conversation is told in none, and may still ask something.
        .where((where) => where.or([where('builds.session_id', 'is not', null), where('builds.state', '=', 'running')]))
        .orderBy('builds.ended_at')
        .execute()
      if (rows.length === 0) quiet.add(userId)
      const ended = rows.map(toBuild).filter((build) => build.sessionId === sessionId && build.state !== 'running')
      const waiting = await questions.questions(userId)
      // Why it failed is told in the words of its Builder.
      const failed = ended.filter(({ state }) => state !== 'complete')
      const tainted = await Promise.all(failed.map((build) => hasSeenForeignWords(database.read, build)))
      return {
        lines: [...ended.map(endLine), ...waiting.map(questionLine)],
        builds: ended.map(({ id }) => id),
        isUntrusted: waiting.some((question) => question.isUntrusted) || tainted.includes(true),
      }
    },
    async markToldIn(writer, builds) {
      if (builds.length === 0) return
      await writer.updateTable('builds').set({ is_told: 1 }).where('id', 'in', builds).execute()
    },
    close: lives.close,

    async buildOf(sessionId) {
      const session = await database.read
        .selectFrom('sessions')
        .select(['user_id', 'contact'])
        .where('id', '=', sessionId)
        .where('channel', '=', builderChannel)
        .executeTakeFirst()
      return session && findOf(session.user_id, session.contact)
    },
    async report(build, { callId, message, seen }) {
      const body = { type: 'progress', message: toStorableText(message).slice(0, longestMessage) } as const
      const event = { buildId: build.id, at: clock.now(), body, aside: { call_id: callId, ...(seen && { seen }) } }
      await database.write(async (writer) => {
        // Nothing comes after the end.
        if (!(await isRunningIn(writer, build.id))) return
        if (!(await hasEventIn(writer, event))) await appendEventIn(writer, event)
      })
      wakeBuild(wakeups, build.id)
    },
    async completeIn(writer, build, version) {
      if (!(await endBuildIn(writer, build, { state: 'complete', error: null, now: clock.now() }))) {
        throw new FamiliarError('conflict', 'This build has ended already: nothing of it is registered any more')
      }
      const message = endLine({ ...build, state: 'complete' })
      await append(writer, build, { type: 'complete', name: build.name, version, message })
      onStep('registering')
    },
    completed(build) {
      onStep('registered')
      lives.end(build.id)
      wakeBuild(wakeups, build.id)
    },
  }
}
