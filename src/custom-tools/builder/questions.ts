import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import { toStorableText } from '../../base/text.ts'
import type { Wakeups } from '../../base/work.ts'
import { chosenLabels, type OfferedChoices, readChoices } from '../../protocol/choices.ts'
import type { BuildQuestion } from '../../protocol/custom-tools.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Seen } from '../../security/permissions.ts'
import { readSpokenAnswer } from '../../security/spoken-answer.ts'
import type { Vault } from '../../security/vault.ts'
import type { Database, Reader, Writer } from '../../storage/database.ts'
import type { BuildQuestionRow } from '../../storage/feature-tables.ts'
import { secretOwnerOf } from '../built-catalog.ts'
import {
  appendEventIn,
  type Build,
  findOpenQuestions,
  findQuestion,
  hostQuestionId,
  isForHandAlone,
  isRunningIn,
  listenToBuild,
  type NamedQuestionRow,
  questionId,
  seenSchema,
  toQuestion,
  wakeBuild,
} from './builds.ts'
import type { OnBuildStep } from './create-builds.ts'

interface Asked {
  build: Build
  seen: Seen
  signal: AbortSignal
}

const patienceMs = 60_000
/** For a permission the build waits until it is answered or the build is stopped; the column needs a time. */
const unlimitedMs = 10 * 365 * 24 * 60 * 60_000
/** Timers cannot be set further ahead than 24 days. */
const maxTimerMs = 24 * 60 * 60_000
/** The user's answer. `seen`: the text that a model had read when it wrote the answer; null if the user wrote it. */
const answerSchema = z.object({ text: z.string(), seen: seenSchema.nullable() })
type UsersAnswer = z.infer<typeof answerSchema>

/** Questions of builds to their user (CAP-7). The call that asks has one question, however often it runs. */
export function createBuildQuestions(dependencies: {
  database: Database
  vault: Pick<Vault, 'set' | 'names'>
  clock: Clock
  wakeups: Wakeups
  onStep: OnBuildStep
}) {
  const { database, vault, clock, wakeups, onStep } = dependencies

  async function put(
    { build, seen }: Asked,
    wanted: {
      id: string
      question: string
      offer?: OfferedChoices | undefined
      secret: string | null
      patienceMs: number
    },
  ): Promise<void> {
    const { id, offer = {} } = wanted
    const now = clock.now()
    const row: BuildQuestionRow = {
      id,
      build_id: build.id,
      kind: wanted.secret === null ? 'question' : 'secret',
      question: toStorableText(wanted.question),
      secret: wanted.secret,
      state: 'asked',
      answer: null,
      asked_at: now,
      expires_at: now + wanted.patienceMs,
    }
    const body = { question_id: id, question: row.question, expires_at: new Date(row.expires_at).toISOString() }
    await database.write(async (writer) => {
      if (await findQuestion(writer, build.userId, id)) return
      // Nothing comes after the end.
      if (!(await isRunningIn(writer, build.id)))
        throw new FamiliarError('conflict', 'This build has ended. Stop here.')
      await writer.insertInto('build_questions').values(row).execute()
      const event =
        wanted.secret === null
          ? ({ type: 'question', ...body, ...offer } as const)
          : ({ type: 'secret_request', ...body, secret: wanted.secret } as const)
      await appendEventIn(writer, { buildId: build.id, at: now, body: event, aside: { seen } })
    })
    onStep('question_written')
    wakeBuild(wakeups, build.id)
  }

  /** In the unit that writes its event. False if it was no longer open. */
  async function closeIn(
    writer: Writer,
    row: BuildQuestionRow,
    to: { state: 'answered' | 'expired'; answer: UsersAnswer | null },
  ): Promise<boolean> {
    const { numUpdatedRows } = await writer
      .updateTable('build_questions')
      .set({ state: to.state, answer: to.answer && JSON.stringify(to.answer) })
      .where('id', '=', row.id)
      .where('state', '=', 'asked')
      .executeTakeFirst()
    if (Number(numUpdatedRows) !== 1) return false
    const body = { question_id: row.id, answer: to.answer?.text ?? null, is_expired: to.state === 'expired' }
    await appendEventIn(writer, { buildId: row.build_id, at: clock.now(), body: { type: 'answer', ...body } })
    return true
  }

  async function waitFor({ build, signal }: Asked, id: string): Promise<BuildQuestionRow> {
    const listener = listenToBuild(build.id, { wakeups, signal })
    try {
      for (;;) {
        const row = await findQuestion(database.read, build.userId, id)
        signal.throwIfAborted()
        if (!row) throw new Error(`The question ${id} is gone`)
        if (row.state !== 'asked') return row
        const leftMs = Number(row.expires_at) - clock.now()
        if (leftMs <= 0) {
          await database.write((writer) => closeIn(writer, row, { state: 'expired', answer: null }))
          wakeBuild(wakeups, build.id)
          continue
        }
        const cancel = clock.after(Math.min(leftMs, maxTimerMs), listener.wake)
        await listener.wait()
        cancel()
      }
    } finally {
      listener.stop()
    }
  }

  /** An open question; otherwise throws `not_found` or `conflict`. */
  async function openIn(writer: Writer, userId: string, id: string): Promise<NamedQuestionRow> {
    const row = await findQuestion(writer, userId, id)
    if (!row) throw new FamiliarError('not_found', `There is no question ${id.slice(0, 120)}`)
    if (row.state === 'answered') throw new FamiliarError('conflict', 'This question was answered already')
    if (row.state === 'expired' || row.build_state !== 'running' || Number(row.expires_at) <= clock.now()) {
      throw new FamiliarError('conflict', 'No build waits for this answer any more')
    }
    return row
  }

  async function askFor(
    asked: Asked,
    wanted: { id: string; question: string; offer?: OfferedChoices; patienceMs: number },
  ): Promise<UsersAnswer | undefined> {
    const { id } = wanted
    await put(asked, { ...wanted, secret: null })
    const { answer } = await waitFor(asked, id)
    if (answer === null) return undefined
    const parsed = parseJson(answer, answerSchema)
    if (!parsed.ok) throw new Error(`The answer to ${id} cannot be read: ${parsed.message}`)
    return parsed.value
  }

  /** The label of the option that the words choose; otherwise the words. */
  async function chosenOr(userId: string, id: string, text: string): Promise<string> {
    const row = await findQuestion(database.read, userId, id)
    const choices = row && (await toQuestion(database.read, row)).choices
    const chosen = choices && readChoices(text, choices)
    if (choices && !chosen && !choices.allowText) {
      const labels = choices.options.map(({ label }, at) => `${at + 1}. ${label}`).join(', ')
      throw new FamiliarError('bad_request', `Answer with one of the options: ${labels}. The question stays open.`)
    }
    return choices && chosen ? chosenLabels(choices, chosen) : text
  }

  async function isSet(build: Build, secret: string): Promise<boolean> {
    const names = await vault.names(build.userId, secretOwnerOf(build.name))
    return names.some(({ name }) => name === secret)
  }

  /** A secret of the capability was set in another way. A build that waits for it continues. */
  async function noticeSecret(userId: string, name: string, secret: string): Promise<void> {
    const builds = await database.write(async (writer) => {
      const rows = await findOpenQuestions(writer, userId, clock.now())
      const waiting = rows.filter((row) => row.name === name && row.secret === secret)
      for (const row of waiting) await closeIn(writer, row, { state: 'answered', answer: null })
      return waiting.map((row) => row.build_id)
    })
    for (const buildId of builds) wakeBuild(wakeups, buildId)
  }

  return {
    /** Resolves with the answer; undefined if none came in time. */
    ask({
      callId,
      question,
      offer = {},
      ...asked
    }: Asked & { callId: string; question: string; offer?: OfferedChoices }) {
      return askFor(asked, { id: questionId(asked.build, callId), question, offer, patienceMs })
    },
    /** Whether the secret is there in the end. Asks only where it is not. */
    async requestSecret(asked: Asked & { callId: string; secret: string; description: string }): Promise<boolean> {
      const { build, secret } = asked
      if (await isSet(build, secret)) {
        // A crash can lie between the vault and the answer.
        await noticeSecret(build.userId, build.name, secret)
        return true
      }
      const id = questionId(build, asked.callId)
      await put(asked, { id, question: asked.description, secret, patienceMs })
      await waitFor(asked, id)
      return isSet(build, secret)
    },
    /**
     * Whether the user lets this build reach the host. Asked once; only they themself can say yes, never a model. It waits
     * until they answer, however long that takes.
     */
    async allowsHost(asked: Asked & { host: string; question: string }): Promise<boolean> {
      const id = hostQuestionId(asked.build, asked.host)
      const offer = { options: [{ label: 'Yes' }, { label: 'No' }] }
      const answer = await askFor(asked, { id, question: asked.question, offer, patienceMs: unlimitedMs })
      return answer !== undefined && readSpokenAnswer(answer.text) === 'approve'
    },
    async questions(userId: string): Promise<BuildQuestion[]> {
      const rows = await findOpenQuestions(database.read, userId, clock.now())
      return Promise.all(rows.map((row) => toQuestion(database.read, row)))
    },
    /**
     * `conflict` where it was answered or has expired. `seen` is what a model had in sight that wrote the answer down; the
     * build inherits it with the words. Absent: they are the user's own.
     */
    async answer(userId: string, id: string, answer: string, seen?: Seen): Promise<void> {
      const text = await chosenOr(userId, id, toStorableText(answer))
      const { build_id } = await database.write(async (writer) => {
        const row = await openIn(writer, userId, id)
        if (row.kind === 'secret') {
          throw new FamiliarError('bad_request', 'A secret is entered into its own form, never as an answer')
        }
        if (seen && isForHandAlone(row)) {
          const how = `with "familiar caps answer ${row.id} yes" or on the page`
          throw new FamiliarError('forbidden', `Only the user can say so: ${how}`)
        }
        if (isForHandAlone(row) && readSpokenAnswer(text) === undefined) {
          throw new FamiliarError('bad_request', 'Answer with yes or no. The question stays open.')
        }
        await closeIn(writer, row, { state: 'answered', answer: { text, seen: seen ?? null } })
        return row
      })
      onStep('answer_written')
      wakeBuild(wakeups, build_id)
    },
    /** The value goes into the vault and nowhere else. */
    async giveSecret(userId: string, id: string, value: string): Promise<void> {
      const { name, secret } = await database.write((writer) => openIn(writer, userId, id))
      if (secret === null) throw new FamiliarError('bad_request', 'This question is not for a secret')
      await vault.set({ userId, owner: secretOwnerOf(name), name: secret }, value)
      onStep('secret_sealed')
      await noticeSecret(userId, name, secret)
      onStep('answer_written')
    },
    noticeSecret,
  }
}

/** The remaining time of each build. It starts again when a build is resumed after a restart. */
export function createBuildLives(dependencies: {
  read: Reader
  clock: Clock
  lifeMs(): number
  onOver(buildId: string): Promise<void>
  onError(cause: unknown): void
}) {
  const { read, clock, lifeMs, onOver, onError } = dependencies
  const timers = new Map<string, () => void>()
  const running = new Set<Promise<void>>()

  function end(buildId: string): void {
    timers.get(buildId)?.()
    timers.delete(buildId)
  }

  function look(buildId: string, since: number, delayMs: number): void {
    end(buildId)
    const cancel = clock.after(delayMs, () => {
      const looking = lookNow(buildId, since, cancel).catch(onError)
      running.add(looking)
      void looking.then(() => running.delete(looking))
    })
    timers.set(buildId, cancel)
  }

  async function lookNow(buildId: string, since: number, timer: () => void): Promise<void> {
    const now = clock.now()
    const left = lifeMs() - (now - since - (await waitedSince(read, { buildId, since, now })))
    if (timers.get(buildId) !== timer) return
    if (left > 0) return look(buildId, since, left)
    end(buildId)
    await onOver(buildId)
  }

  return {
    begin: (buildId: string): void => look(buildId, clock.now(), lifeMs()),
    end,
    /** Resolves when nothing is being ended any more. */
    async close(): Promise<void> {
      for (const buildId of [...timers.keys()]) end(buildId)
      await Promise.all(running)
    },
  }
}

/** How long the user was waited for: from each question to its answer, and where several waited at once, once. */
async function waitedSince(
  read: Reader,
  { buildId, since, now }: { buildId: string; since: number; now: number },
): Promise<number> {
  const rows = await read
    .selectFrom('build_events')
    .select(['type', 'at'])
    .where('build_id', '=', buildId)
    .where('type', 'in', ['question', 'secret_request', 'answer'])
    .orderBy('seq')
    .execute()
  let open = 0
  let waited = 0
  let from = 0
  for (const { type, at } of rows) {
    if (type !== 'answer') {
      if (open === 0) from = Math.max(since, Number(at))
      open += 1
    } else {
      open -= 1
      if (open === 0) waited += Math.max(0, Number(at) - from)
    }
  }
  return open > 0 ? waited + now - from : waited
}
