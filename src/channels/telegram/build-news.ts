import { type Clock, sleep } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { toDisplayText, truncateText } from '../../base/text.ts'
import { type Build, isForHandAlone } from '../../custom-tools/builder/builds.ts'
import type { Builds } from '../../custom-tools/builder/create-builds.ts'
import { listChoices, plainReply } from '../../protocol/choices.ts'
import type { BuildQuestion } from '../../protocol/custom-tools.ts'
import type { Database } from '../../storage/database.ts'
import type { Outbox } from '../create-outbox.ts'
import type { OutgoingItem } from '../outbox.ts'
import { type TelegramPayloadInput, telegramChannel, toOutgoing } from './sender.ts'
import { questionData } from './updates.ts'

/** Builds that ended earlier were reported or are no longer relevant. */
const newsMs = 24 * 60 * 60_000
const pauseAfterErrorMs = 5_000

/**
 * Reports builds to the chats in which they were requested: their questions, and how they end. Each is queued once, by
 * its key.
 */
export function createBuildNews(dependencies: {
  database: Database
  builds: Pick<Builds, 'questions' | 'find' | 'onChange'>
  outbox: Pick<Outbox, 'putIn' | 'wake'>
  /**
   * The chats of a user: a build asks for permissions there even if it was requested elsewhere, because it waits for
   * the answer.
   */
  chatsOf?(userId: string): Promise<string[]>
  clock: Clock
  logger: Logger
}) {
  const { database, builds, outbox, clock, logger, chatsOf = async () => [] } = dependencies
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
        logger.error('could not queue a message about a build; will retry', { error })
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

  async function itemsOf(build: RecentBuild): Promise<OutgoingItem[]> {
    const { user_id: userId, session_id: sessionId } = build
    const chatId = build.channel === telegramChannel ? build.contact : null
    if (build.state !== 'running') {
      if (chatId === null) return []
      const key = `build:${build.id}:end`
      const ended = told.has(key) ? undefined : await builds.find(userId, build.id)
      return ended ? [toOutgoing({ userId, chatId, key, payload: endPayload(ended), sessionId })] : []
    }
    const questions = await builds.questions(userId)
    const own = questions.filter(({ buildId }) => buildId === build.id)
    if (chatId !== null) {
      return own.map((question) =>
        toOutgoing({ userId, chatId, key: `question:${question.id}`, payload: questionPayload(question), sessionId }),
      )
    }
    const permissions = own.filter(({ id, buildId }) => isForHandAlone({ id, build_id: buildId }))
    const chats = permissions.length > 0 ? await chatsOf(userId) : []
    return permissions.flatMap((question) => {
      const item = { userId, payload: questionPayload(question), sessionId: null }
      return chats.map((chat) => toOutgoing({ ...item, chatId: chat, key: `question:${question.id}:${chat}` }))
    })
  }

  return {
    start(): void {
      unfollow = builds.onChange(notice)
      notice()
    },
    /** Resolves when everything that has happened so far is in the outbox. */
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
    .leftJoin('sessions', 'sessions.id', 'builds.session_id')
    .select([
      'builds.id',
      'builds.user_id',
      'builds.state',
      'builds.session_id',
      'sessions.contact',
      'sessions.channel',
    ])
    .where((where) =>
      where.or([
        where('builds.state', '=', 'running'),
        where.and([where('sessions.channel', '=', telegramChannel), where('builds.ended_at', '>', since)]),
      ]),
    )
    .orderBy('builds.created_at')
    .execute()
}

const maxWordsLength = 3_000

/** A question of a build. A secret is never requested in the chat, only through a one-time link. */
function questionPayload(question: BuildQuestion): TelegramPayloadInput {
  const { id, buildId, name, secret, isUntrusted, expiresAt: notAfter } = question
  const words = shown(question.question)
  const caution = isUntrusted ? '\n\n(This question was written with untrusted text in view.)' : ''
  if (secret !== null) {
    return {
      kind: 'secret',
      text: `Building ${name} needs the secret ${secret}: ${words}${caution}`,
      notAfter,
      questionId: id,
    }
  }
  const { choices } = question
  const asked = `Building ${name}: ${words}${caution}`
  const listed = plainReply({ text: asked, answerList: choices && listChoices(choices) })
  if (choices && !choices.multiple) {
    const text = choices.options.some(({ description }) => description) ? listed : asked
    const rows = choices.options.map(({ label }, at) => [{ text: label, data: questionData(id, String(at + 1)) }])
    return { kind: 'text', text, notAfter, buttons: rows }
  }
  if (!isForHandAlone({ id, build_id: buildId })) {
    return { kind: 'text', text: listed, notAfter, wantsReply: true }
  }
  // Asked by an earlier version, without options.
  const buttons = [['Yes', 'No'].map((text) => ({ text, data: questionData(id, text.toLowerCase()) }))]
  return { kind: 'text', text: asked, notAfter, buttons }
}

function endPayload({ name, kind, state, error }: Build): TelegramPayloadInput {
  const work = kind === 'repair' ? 'Repairing' : 'Building'
  const reason = shown(error ?? 'no reason was given')
  if (state === 'complete') return { kind: 'text', text: `${name} is ${kind === 'repair' ? 'repaired' : 'ready'}.` }
  return { kind: 'text', text: `${work} ${name} ${state === 'stopped' ? 'was stopped' : 'failed'}: ${reason}` }
}

function shown(text: string): string {
  return truncateText(toDisplayText(text.toWellFormed()).trim(), maxWordsLength)
}
