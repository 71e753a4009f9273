import type { Clock } from '../../base/clock.ts'
import type { Ids } from '../../base/ids.ts'
import { snakeKeys } from '../../base/json.ts'
import type { Logger } from '../../base/logger.ts'
import { reasonOf, toDisplayText, toStorableText, truncateText } from '../../base/text.ts'
import type { Wakeups } from '../../base/work.ts'
import type { BuildEvent, BuildQuestion } from '../../protocol/custom-tools.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { builderChannel } from '../../protocol/messages.ts'
import type { Seen } from '../../security/permissions.ts'
import type { Vault } from '../../security/vault.ts'
import type { Database, Reader, Writer } from '../../storage/database.ts'
import { type CapabilityCatalog, toolNameOf } from '../built-catalog.ts'
import { type CapabilityFiles, checkFiles, decodeUtf8 } from '../tool-folder.ts'
import { lockFile } from '../versions.ts'
import {
  anyBuild,
  appendEventIn,
  type Build,
  type BuildEventBody,
  type BuildRequest,
  type BuildWork,
  hasEventIn,
  hasSeenForeignWords,
  isForHandAlone,
  isRunningIn,
  listenToBuild,
  readEvents,
  selectBuilds,
  toBuild,
  wakeBuild,
} from './builds.ts'
import { createBuildLives, createBuildQuestions } from './questions.ts'

const usualLifeMs = 10 * 60_000
const maxListed = 100
const maxMessageLength = 2_000

export type Builds = ReturnType<typeof createBuilds>

/** A build from the side of the Builder: what its tools tell and ask. Each of them may run again after a crash. */
export type BuilderDesk = Pick<
  Builds,
  'ask' | 'requestSecret' | 'allowsHost' | 'buildOf' | 'report' | 'completeIn' | 'completed'
>

/**
 * Builds of capabilities: durable work in the background (CAP-2, CAP-3, CAP-7). Every build ends as complete, failed or
 * stopped, after a crash too. Its events are written before any client sees them, and read from any cursor. `work` starts
 * and stops the agent's loop that does the work.
 */
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
}) {
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
    const error = toStorableText(reason).trim().slice(0, maxMessageLength) || 'It did not say why.'
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
    const { id, name: capability } = build
    logger.info('a build has ended without a version', { build: id, capability, state, reason: error })
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
    onChange: (listener: () => void): (() => void) => wakeups.on(anyBuild, listener),
    /** Called at start, after the agent has resumed its turns. Running builds continue; interrupted ones have failed. */
    async recover(): Promise<void> {
      const running = await selectBuilds(database.read).where('builds.state', '=', 'running').execute()
      for (const build of running.map(toBuild)) {
        try {
          await takeUp(build)
        } catch (cause) {
          logger.error('a build could not be taken up', { build: build.id, error: cause })
          await fail(build, 'failed', 'It could not be resumed after a restart.')
        }
      }
      // Its end may have been written, and the loop not have heard of it.
      const ended = await selectBuilds(database.read)
        .where('builds.state', '!=', 'running')
        .orderBy('builds.ended_at', 'desc')
        .limit(maxListed)
        .execute()
      for (const build of ended.map(toBuild)) if ((await work.state(build)) === 'alive') await work.stop(build)
    },

    /** The same call of the same conversation is the same build. `conflict` where that name is being built already. */
    async request(wanted: WantedBuild): Promise<Build> {
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
        await fail(build, 'failed', `It could not begin: ${reasonOf(cause)}`)
        throw cause
      }
      return build
    },

    /** The loop has ended: a build that did not register has failed, for this reason. */
    async ended(buildId: string, { isStopped, reason }: { isStopped: boolean; reason: string }): Promise<void> {
      const build = await find(buildId)
      if (build) await fail(build, isStopped ? 'stopped' : 'failed', reason)
    },
    async stop(userId: string, buildId: string): Promise<boolean> {
      return failAndStop(await need(userId, buildId), 'stopped', 'It was stopped.')
    },
    find: findOf,
    async list(
      userId: string,
      { name, state, limit = maxListed }: { name?: string; state?: Build['state']; limit?: number } = {},
    ): Promise<Build[]> {
      let query = selectBuilds(database.read).where('builds.user_id', '=', userId)
      if (name !== undefined) query = query.where('capabilities.name', '=', name)
      if (state !== undefined) query = query.where('builds.state', '=', state)
      const rows = await query.orderBy('builds.created_at', 'desc').orderBy('builds.id', 'desc').limit(limit).execute()
      return rows.map(toBuild)
    },
    /** The events after the cursor that are there already, in order: for a reader that does not wait. */
    async eventsSoFar({ userId, buildId, after }: EventCursor): Promise<BuildEvent[]> {
      await need(userId, buildId)
      return readEvents(database.read, buildId, after)
    },
    /** Every event after the cursor, once each and in order; then what comes, until the build has ended or the signal aborts. */
    async *events({
      userId,
      buildId,
      after,
      signal,
    }: EventCursor & { signal: AbortSignal }): AsyncGenerator<BuildEvent> {
      await need(userId, buildId)
      const listener = listenToBuild(buildId, { wakeups, signal })
      try {
        let cursor = after
        while (!signal.aborted) {
          // Asked before the events: the last event is there as soon as a build has ended.
          const { state } = await need(userId, buildId)
          for (const event of await readEvents(database.read, buildId, cursor)) {
            cursor = event.seq
            yield event
            if (event.type === 'complete' || event.type === 'error') return
          }
          if (state !== 'running') return
          await listener.wait()
        }
      } finally {
        listener.stop()
      }
    },

    /**
     * News for a conversation: builds that ended, and open questions. With `isUntrusted` a question may contain untrusted
     * text.
     */
    async news({ userId, sessionId }: { userId: string; sessionId: string }) {
      if (quiet.has(userId)) return { lines: [], builds: [], isUntrusted: false }
      const rows = await selectBuilds(database.read)
        .where('builds.user_id', '=', userId)
        .where('builds.is_told', '=', 0)
        // A build without a conversation has no news, but may ask a question.
        .where((where) => where.or([where('builds.session_id', 'is not', null), where('builds.state', '=', 'running')]))
        .orderBy('builds.ended_at')
        .execute()
      if (rows.length === 0) quiet.add(userId)
      const ended = rows.map(toBuild).filter((build) => build.sessionId === sessionId && build.state !== 'running')
      const waiting = await questions.questions(userId)
      // The Builder explains the failure itself.
      const failed = ended.filter(({ state }) => state !== 'complete')
      const tainted = await Promise.all(failed.map((build) => hasSeenForeignWords(database.read, build)))
      return {
        lines: [...ended.map(endLine), ...waiting.map(questionLine)],
        builds: ended.map(({ id }) => id),
        isUntrusted: waiting.some((question) => question.isUntrusted) || tainted.includes(true),
      }
    },
    /** In the unit that records that the news was delivered. */
    async markToldIn(writer: Writer, builds: readonly string[]): Promise<void> {
      if (builds.length === 0) return
      await writer.updateTable('builds').set({ is_told: 1 }).where('id', 'in', builds).execute()
    },
    /** Ends no build; only no timer runs any more. */
    close: lives.close,

    async buildOf(sessionId: string): Promise<Build | undefined> {
      const session = await database.read
        .selectFrom('sessions')
        .select(['user_id', 'contact'])
        .where('id', '=', sessionId)
        .where('channel', '=', builderChannel)
        .executeTakeFirst()
      return session && findOf(session.user_id, session.contact)
    },
    /** Once for each call and message, however often it runs. `seen`: what comes into sight with it. */
    async report(
      build: Build,
      { callId, message, seen }: { callId: string; message: string; seen?: Seen },
    ): Promise<void> {
      const body = { type: 'progress', message: toStorableText(message).slice(0, maxMessageLength) } as const
      const event = { buildId: build.id, at: clock.now(), body, aside: { call_id: callId, ...(seen && { seen }) } }
      await database.write(async (writer) => {
        // Nothing comes after the end.
        if (!(await isRunningIn(writer, build.id))) return
        if (!(await hasEventIn(writer, event))) await appendEventIn(writer, event)
      })
      wakeBuild(wakeups, build.id)
    },
    /** In the unit that makes its version serve: that is the end of the build. `conflict` where it has ended otherwise. */
    async completeIn(writer: Writer, build: Build, version: number): Promise<void> {
      if (!(await endBuildIn(writer, build, { state: 'complete', error: null, now: clock.now() }))) {
        throw new FamiliarError('conflict', 'This build has ended already: nothing of it is registered any more')
      }
      const message = endLine({ ...build, state: 'complete' })
      await append(writer, build, { type: 'complete', name: build.name, version, message })
      onStep('registering')
    },
    /** After that unit is committed. */
    completed(build: Build): void {
      onStep('registered')
      lives.end(build.id)
      wakeBuild(wakeups, build.id)
    },
  }
}

/** The first message to the Builder. The same build always gives the same text. */
export function firstMessage({ name, kind, request }: Build): string {
  const { description, inputSchema, failure } = request
  const parts = [
    kind === 'repair'
      ? `Repair the capability ${name}. Its files are in /capability.`
      : `Build the capability ${name}.`,
    `Purpose:\n${description}`,
    `Its input, as JSON Schema:\n${JSON.stringify(inputSchema)}`,
  ]
  if (failure) {
    parts.push(
      `It failed with this input:\n${JSON.stringify(failure.input)}`,
      `Its error:\n${failure.error}`,
      'Make this input one of the examples, with what should come of it, and keep the others.',
    )
  }
  return parts.join('\n\n')
}

/** The files that a build has written so far. They lie in the database, so that a crash takes none of them. */
export function createBuildFiles({ database, onStep }: { database: Database; onStep: OnBuildStep }) {
  return {
    /** In place of what was there. A path that leads elsewhere and what is too large are a `bad_request`. */
    async write(file: Parameters<typeof putBuildFileIn>[1]): Promise<void> {
      await database.write((writer) => putBuildFileIn(writer, file))
      onStep('file_written')
    },
    read: (buildId: string): Promise<CapabilityFiles> => readBuildFiles(database.read, buildId),
  }
}

async function putBuildFileIn(
  writer: Writer,
  { buildId, path, content }: { buildId: string; path: string; content: string },
): Promise<void> {
  const files = new Map(await readBuildFiles(writer, buildId)).set(path, Buffer.from(content))
  const problems = checkFiles(files)
  if (path === lockFile) problems.push(`${lockFile} is written by the registration.`)
  if (problems.length > 0) throw new FamiliarError('bad_request', problems.join(' '))
  await writer
    .insertInto('build_files')
    .values({ build_id: buildId, path, content })
    .onConflict((conflict) => conflict.columns(['build_id', 'path']).doUpdateSet({ content }))
    .execute()
}

async function readBuildFiles(reader: Reader | Writer, buildId: string): Promise<CapabilityFiles> {
  const rows = await reader
    .selectFrom('build_files')
    .select(['path', 'content'])
    .where('build_id', '=', buildId)
    .orderBy('path')
    .execute()
  return new Map(rows.map(({ path, content }) => [path, Buffer.from(content)]))
}

const maxWordsLength = 500

/** Of a build that has ended, for the conversation that asked for it. */
function endLine({ name, kind, state, error }: Build): string {
  const work = kind === 'repair' ? 'Repairing' : 'Building'
  const reason = oneLine(error ?? 'it did not say why')
  switch (state) {
    case 'complete':
      return `The capability ${name} is ${kind === 'repair' ? 'repaired' : 'ready'}: call ${toolNameOf(name)}.`
    case 'failed':
      return `${work} ${name} failed: ${reason}`
    case 'stopped':
      return `${work} ${name} was stopped: ${reason}`
    case 'running':
      return `${work} ${name} is under way.`
  }
}

/** The place of a question, and how to answer it. A secret must never be sent through a conversation. */
function questionLine({ id, buildId, name, question, secret }: BuildQuestion): string {
  if (secret !== null) {
    return `The Builder of ${name} needs the secret ${secret} (${JSON.stringify(oneLine(question))}): the user enters it with "familiar caps secret ${name} ${secret}" or on the page, never here.`
  }
  const asks = `The Builder of ${name} asks: ${JSON.stringify(oneLine(question))}`
  return isForHandAlone({ id, build_id: buildId })
    ? `${asks} (only the user can answer, with "familiar caps answer ${id} yes" or on the page)`
    : `${asks} (answer with answer_build, question ${id})`
}

function oneLine(text: string): string {
  return truncateText(toDisplayText(text).replace(/\s+/g, ' ').trim(), maxWordsLength).replaceAll('\n', ' ')
}

/**
 * The durable steps of a build. The crash suite kills the process at each one; nothing else may depend on them.
 *
 * `registering` lies inside the unit that makes a version serve: its directory is there, and no row names it yet.
 * `secret_sealed` lies between the vault and the answer.
 */
export const buildStepNames = [
  'build_written',
  'build_begun',
  'file_written',
  'trying_out',
  'question_written',
  'answer_written',
  'secret_sealed',
  'registering',
  'registered',
  'end_written',
] as const

export type BuildStepName = (typeof buildStepNames)[number]
export type OnBuildStep = (step: BuildStepName) => void

/** True for the one that ended it: of several that try at the same time, the others have changed nothing. */
async function endBuildIn(
  writer: Writer,
  build: Pick<Build, 'id'>,
  { state, error, now }: { state: Exclude<Build['state'], 'running'>; error: string | null; now: number },
): Promise<boolean> {
  const { numUpdatedRows } = await writer
    .updateTable('builds')
    .set({ state, error, updated_at: now, ended_at: now })
    .where('id', '=', build.id)
    .where('state', '=', 'running')
    .executeTakeFirst()
  if (Number(numUpdatedRows) !== 1) return false
  await writer
    .updateTable('build_questions')
    .set({ state: 'expired' })
    .where('build_id', '=', build.id)
    .where('state', '=', 'asked')
    .execute()
  return true
}

/** The files of the active version, as the start of a repair. Throws `conflict` if a Builder cannot repair them. */
async function readServedFiles(
  catalog: Pick<CapabilityCatalog, 'version' | 'read'>,
  userId: string,
  name: string,
): Promise<Map<string, string>> {
  const version = await catalog.version(userId, name)
  if (!version) throw new FamiliarError('conflict', `${name} has no version that could be repaired`)
  const reading = await catalog.read(version)
  if (!reading.ok) throw new FamiliarError('conflict', reading.problem)
  const files = new Map<string, string>()
  for (const [path, bytes] of reading.files) {
    if (path === lockFile) continue
    const text = decodeUtf8(bytes)
    // Left out it would be gone from the new version, and the Builder cannot write it.
    if (text === undefined) throw new FamiliarError('conflict', `${path} of ${name} is no text: repair it by hand`)
    files.set(path, text)
  }
  return files
}

interface EventCursor {
  userId: string
  buildId: string
  after: number
}

interface WantedBuild {
  userId: string
  name: string
  kind: Build['kind']
  request: BuildRequest
  /** The conversation and the call that asked for it. */
  sessionId: string | null
  callId: string | null
}

/** The capability in `building`, the build, its files and its first event, all or none. Not new: it was asked for before. */
async function writeBuildIn(
  writer: Writer,
  given: {
    wanted: WantedBuild
    files: ReadonlyMap<string, string> | undefined
    id: string
    now: number
    catalog: Pick<CapabilityCatalog, 'beginBuildIn'>
  },
): Promise<{ build: Build; isNew: boolean }> {
  const { wanted, files = new Map<string, string>(), id, now, catalog } = given
  const { userId, name, kind, request } = wanted
  const known = await findAskedIn(writer, wanted)
  if (known) return { build: known, isNew: false }
  const { description, inputSchema } = request
  const capability = await catalog.beginBuildIn(writer, { userId, name, description, inputSchema })
  const other = await selectBuilds(writer)
    .where('builds.capability_id', '=', capability.id)
    .where('builds.state', '=', 'running')
    .executeTakeFirst()
  if (other) throw new FamiliarError('conflict', `${name} is being built already, as build ${other.id}`)
  const row = {
    ...snakeKeys({ id, userId, capabilityId: capability.id, kind, sessionId: wanted.sessionId, callId: wanted.callId }),
    state: 'running' as const,
    request: JSON.stringify(request),
    error: null,
    created_at: now,
    updated_at: now,
    ended_at: null,
  }
  await writer.insertInto('builds').values(row).execute()
  for (const [path, content] of files) await putBuildFileIn(writer, { buildId: id, path, content })
  const message = kind === 'repair' ? `Repairing ${name}.` : `Building ${name}.`
  await appendEventIn(writer, { buildId: id, at: now, body: { type: 'progress', message } })
  return { build: toBuild({ ...row, name }), isNew: true }
}

/** A call that is made again after a restart asks for the same build. */
async function findAskedIn(writer: Writer, { userId, sessionId, callId }: WantedBuild): Promise<Build | undefined> {
  if (sessionId === null || callId === null) return undefined
  const row = await selectBuilds(writer)
    .where('builds.session_id', '=', sessionId)
    .where('builds.call_id', '=', callId)
    .where('builds.user_id', '=', userId)
    .executeTakeFirst()
  return row && toBuild(row)
}
