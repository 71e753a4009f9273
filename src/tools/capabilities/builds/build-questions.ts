import { z } from 'zod'
import type { Clock } from '../../../base/clock.ts'
import { parseJson } from '../../../base/json.ts'
import { toStorableText } from '../../../base/text.ts'
import type { Wakeups } from '../../../base/wakeups.ts'
import type { Seen } from '../../../policy/gate.ts'
import { readSpokenAnswer } from '../../../policy/spoken-answer.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { Vault } from '../../../secrets/vault.ts'
import type { BuildQuestionRow } from '../../../storage/capability-tables.ts'
import type { Database, Writer } from '../../../storage/database.ts'
import { secretOwnerOf } from '../capability.ts'
import { appendEventIn } from './build-events.ts'
import { hostQuestionId, isForHandAlone, questionId } from './build-question-id.ts'
import { findOpenQuestions, findQuestion, type NamedQuestionRow, toQuestion } from './build-question-row.ts'
import { isRunningIn, seenSchema } from './build-row.ts'
import type { OnBuildStep } from './build-step.ts'
import type { Build, Builds } from './builds.ts'
import { listenToBuild, wakeBuild } from './listen-to-build.ts'

/** What the user said. `seen`: what was in sight of a model that wrote it down; null where they wrote it themself. */
interface UsersAnswer {
  text: string
  seen: Seen | null
}

interface Asked {
  build: Build
  seen: Seen
  signal: AbortSignal
}

/** Questions of builds to their user (CAP-7). The call that asks has one question, however often it runs. */
export interface BuildQuestions extends Pick<Builds, 'questions' | 'answer' | 'giveSecret' | 'noticeSecret'> {
  /** Resolves with the answer; undefined where nobody gave one in time. */
  ask(asked: Asked & { callId: string; question: string }): Promise<UsersAnswer | undefined>
  /** Whether the secret is there in the end. Asks only where it is not. */
  requestSecret(asked: Asked & { callId: string; secret: string; description: string }): Promise<boolean>
  /** Whether the user lets this build reach the host. Asked once; only they themself can say yes, never a model. */
  allowsHost(asked: Asked & { host: string; question: string }): Promise<boolean>
}

const patienceMs = 60_000
const answerSchema = z.object({ text: z.string(), seen: seenSchema.nullable() })

export function createBuildQuestions(dependencies: {
  database: Database
  vault: Pick<Vault, 'set' | 'names'>
  clock: Clock
  wakeups: Wakeups
  onStep: OnBuildStep
}): BuildQuestions {
  const { database, vault, clock, wakeups, onStep } = dependencies

  async function put(
    { build, seen }: Asked,
    wanted: { id: string; question: string; secret: string | null },
  ): Promise<void> {
    const { id } = wanted
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
      expires_at: now + patienceMs,
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
          ? ({ type: 'question', ...body } as const)
          : ({ type: 'secret_request', ...body, secret: wanted.secret } as const)
      await appendEventIn(writer, { buildId: build.id, at: now, body: event, aside: { seen } })
    })
    onStep('question_written')
    wakeBuild(wakeups, build.id)
  }

  /** In the same unit as what is told of it. False where it was not open any more. */
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
        const cancel = clock.after(leftMs, listener.wake)
        await listener.wait()
        cancel()
      }
    } finally {
      listener.stop()
    }
  }

  /** What can be answered now; `not_found` and `conflict` otherwise. */
  async function openIn(writer: Writer, userId: string, id: string): Promise<NamedQuestionRow> {
    const row = await findQuestion(writer, userId, id)
    if (!row) throw new FamiliarError('not_found', `There is no question ${id.slice(0, 120)}`)
    if (row.state === 'answered') throw new FamiliarError('conflict', 'This question was answered already')
    if (row.state === 'expired' || row.build_state !== 'running' || Number(row.expires_at) <= clock.now()) {
      throw new FamiliarError('conflict', 'Nobody waits for this answer any more')
    }
    return row
  }

  async function askFor(asked: Asked, id: string, question: string): Promise<UsersAnswer | undefined> {
    await put(asked, { id, question, secret: null })
    const { answer } = await waitFor(asked, id)
    if (answer === null) return undefined
    const parsed = parseJson(answer, answerSchema)
    if (!parsed.ok) throw new Error(`The answer to ${id} cannot be read: ${parsed.message}`)
    return parsed.value
  }

  async function isSet(build: Build, secret: string): Promise<boolean> {
    const names = await vault.names(build.userId, secretOwnerOf(build.name))
    return names.some(({ name }) => name === secret)
  }

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
    ask: (asked) => askFor(asked, questionId(asked.build, asked.callId), asked.question),
    async requestSecret(asked) {
      const { build, secret } = asked
      if (await isSet(build, secret)) {
        // A crash can lie between the vault and the answer.
        await noticeSecret(build.userId, build.name, secret)
        return true
      }
      const id = questionId(build, asked.callId)
      await put(asked, { id, question: asked.description, secret })
      await waitFor(asked, id)
      return isSet(build, secret)
    },
    async allowsHost(asked) {
      const answer = await askFor(asked, hostQuestionId(asked.build, asked.host), asked.question)
      return answer !== undefined && readSpokenAnswer(answer.text) === 'approve'
    },
    async questions(userId) {
      const rows = await findOpenQuestions(database.read, userId, clock.now())
      return Promise.all(rows.map((row) => toQuestion(database.read, row)))
    },
    async answer(userId, id, answer, seen) {
      const text = toStorableText(answer)
      const { build_id } = await database.write(async (writer) => {
        const row = await openIn(writer, userId, id)
        if (row.kind === 'secret') {
          throw new FamiliarError('bad_request', 'A secret is entered into its own form, never as an answer')
        }
        if (seen && isForHandAlone(row)) {
          throw new FamiliarError(
            'forbidden',
            `Only the user can say so: with "familiar caps answer ${row.id} yes" or on the page`,
          )
        }
        await closeIn(writer, row, { state: 'answered', answer: { text, seen: seen ?? null } })
        return row
      })
      onStep('answer_written')
      wakeBuild(wakeups, build_id)
    },
    async giveSecret(userId, id, value) {
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
