import { type Clock, sleep } from '../../../base/clock.ts'
import type { Logger } from '../../../base/logger.ts'
import type { Database } from '../../../storage/database.ts'
import type { Builds } from '../../../tools/capabilities/builds/builds.ts'
import type { Outbox, Outgoing } from '../../outbox/outbox.ts'
import { endPayload, questionPayload } from './build-messages.ts'
import { telegramChannel, toOutgoing } from './telegram-payload.ts'

/** What has ended longer ago was told, or is no news any more. */
const newsMs = 24 * 60 * 60_000
const pauseAfterErrorMs = 5_000

/**
 * Tells chats of the builds that were asked for there: what they ask, and how they end. Each is put into the outbox once,
 * by its key, however often this looks.
 */
export function createBuildNews(dependencies: {
  database: Database
  builds: Pick<Builds, 'questions' | 'find' | 'onChange'>
  outbox: Pick<Outbox, 'putIn' | 'wake'>
  clock: Clock
  logger: Logger
}) {
  const { database, builds, outbox, clock, logger } = dependencies
  const stop = new AbortController()
  const told = new Set<string>()
  let running: Promise<void> | undefined
  let isChanged = false
  let unfollow = () => {}

  function notice(): void {
    isChanged = true
    if (running || stop.signal.aborted) return
    running = work().finally(() => {
      running = undefined
    })
  }

  async function work(): Promise<void> {
    while (isChanged && !stop.signal.aborted) {
      isChanged = false
      try {
        await tell()
      } catch (error) {
        logger.error('news of a build could not be put into the outbox; it is tried again', { error })
        isChanged = true
        await sleep(clock, pauseAfterErrorMs, stop.signal).catch(() => undefined)
      }
    }
  }

  async function tell(): Promise<void> {
    const recent = await selectRecent(database, clock.now() - newsMs)
    const items = await Promise.all(recent.map(itemsOf))
    const fresh = items.flat().filter(({ key }) => !told.has(key))
    if (fresh.length === 0) return
    await database.write((writer) => outbox.putIn(writer, fresh))
    for (const { key } of fresh) told.add(key)
    outbox.wake()
  }

  async function itemsOf(build: RecentBuild): Promise<Outgoing[]> {
    const { user_id: userId, contact: chatId, session_id: sessionId } = build
    if (build.state !== 'running') {
      const key = `build:${build.id}:end`
      const ended = told.has(key) ? undefined : await builds.find(userId, build.id)
      return ended ? [toOutgoing({ userId, chatId, key, payload: endPayload(ended), sessionId })] : []
    }
    const questions = await builds.questions(userId)
    return questions
      .filter(({ buildId }) => buildId === build.id)
      .map((question) => {
        const payload = questionPayload(question)
        return toOutgoing({ userId, chatId, key: `question:${question.id}`, payload, sessionId })
      })
  }

  return {
    start(): void {
      unfollow = builds.onChange(notice)
      notice()
    },
    /** Resolves when everything that has happened by now is in the outbox. */
    async settle(): Promise<void> {
      await running
    },
    async close(): Promise<void> {
      unfollow()
      stop.abort()
      await running
    },
  }
}

type RecentBuild = Awaited<ReturnType<typeof selectRecent>>[number]

function selectRecent(database: Database, since: number) {
  return database.read
    .selectFrom('builds')
    .innerJoin('sessions', 'sessions.id', 'builds.session_id')
    .select(['builds.id', 'builds.user_id', 'builds.state', 'builds.session_id', 'sessions.contact'])
    .where('sessions.channel', '=', telegramChannel)
    .where((where) => where.or([where('builds.state', '=', 'running'), where('builds.ended_at', '>', since)]))
    .orderBy('builds.created_at')
    .execute()
}
