import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import type { StepName } from '../../src/agent/next-step.ts'
import type { BuildStepName } from '../../src/custom-tools/builder/create-builds.ts'
import { readVersion } from '../../src/custom-tools/versions.ts'
import type { BuildQuestionReply, BuildReply } from '../../src/protocol/custom-tools.ts'
import { builderChannel } from '../../src/protocol/messages.ts'
import type { SceneDatabase } from './scene-database.ts'
import { spawnOwned } from './spawn-owned.ts'

const program = join(import.meta.dirname, 'capability-child.ts')
const token = 'fam_xJ3kQ9vLr2Tz8WbYd5HsNc7MgPf4AeUi6Ko1BqXjRw'

export interface BuildCrashPoint {
  step: BuildStepName | StepName
  /** The how manieth time it is passed, from 1. */
  passing: number
}

/** The state after everything is over. */
export interface BuildRemains {
  crashes: number
  build: string
  capability: string
  /** The types of its events, where their numbers have no gap. */
  events: string[]
  versions: number
  /** The files on the disk, and whether each matches its lock. */
  directories: { path: string; isWhole: boolean }[]
  openMessages: number
  /** How the newest turn of the user ended. */
  reply: string
}

/**
 * A daemon that dies at the point, its heir, and a user who says something and answers what is asked, until all is quiet
 * and the build has ended.
 */
export async function playBuild(options: {
  /** As `writeBuildHome` wrote it, or an earlier play left it. */
  home: string
  database: SceneDatabase
  crashAt?: BuildCrashPoint
  message: string
  /** The user stops the build as soon as it asks something. */
  stops?: boolean
  signal: AbortSignal
}): Promise<BuildRemains> {
  const { database, crashAt, signal } = options
  const stuck: string[] = []
  let crashes = 0
  let isOver = false
  let child = startDaemonAt(options, crashAt)
  child.ended.then(onEnd)

  function onEnd({ signal: killedBy, errors }: { signal: NodeJS.Signals | null; errors: string }): void {
    if (killedBy !== 'SIGKILL') {
      if (!isOver) stuck.push(`a daemon ended by itself: ${errors.slice(-2_000)}`)
      return
    }
    crashes += 1
    child = startDaemonAt(options)
    child.ended.then(onEnd)
  }

  /** Undefined if the daemon does not answer. */
  async function request<T>(method: string, path: string, body?: object): Promise<T | undefined> {
    const url = await child.url
    if (url === undefined) return undefined
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    try {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      })
      return response.ok ? ((await response.json()) as T) : undefined
    } catch {
      return undefined
    }
  }

  async function answer({ id, kind, build_id }: BuildQuestionReply): Promise<void> {
    if (options.stops) await request('POST', `/builds/${build_id}/stop`, {})
    else if (kind === 'secret') await request('POST', `/builds/questions/${id}/secret`, { value: 'kestrel-41-lantern' })
    else await request('POST', `/builds/questions/${id}`, { answer: 'Good day' })
  }

  for (;;) {
    if (signal.aborted || stuck.length > 0) {
      const state = JSON.stringify({ crashAt, crashes, ...(await readRemains(options)) })
      throw new Error(`It never came to an end: ${state} ${stuck.join()}`)
    }
    const received = await request('POST', '/notify', { message: options.message, key: options.message })
    const asked = await request<{ questions: BuildQuestionReply[] }>('GET', '/builds/questions')
    for (const question of asked?.questions ?? []) await answer(question)
    const listed = await request<{ builds: BuildReply[] }>('GET', '/builds')
    const [build] = listed?.builds ?? []
    const isEnded = received && build && build.state !== 'running'
    if (isEnded && (crashes > 0 || !crashAt) && (await countOpenMessages(database)) === 0) break
    await wait(50)
  }
  isOver = true
  await child.stop()
  return { crashes, ...(await readRemains(options)) }
}

/** Of the Builder too, which the status does not count. */
async function countOpenMessages(database: SceneDatabase): Promise<number> {
  return (await database.recorded()).inbox.filter(({ state }) => state !== 'done').length
}

interface Place {
  home: string
  database: SceneDatabase
}

function startDaemonAt({ home, database }: Place, crashAt?: BuildCrashPoint | undefined) {
  const child = spawnOwned([program], {
    CRASH_HOME: home,
    CRASH_KEY: 'key',
    FAMILIAR_TOKEN: token,
    FAMILIAR_SANDBOX: 'embedded',
    ...database.env,
    ...(crashAt && { CRASH_STEP: crashAt.step, CRASH_PASSING: String(crashAt.passing) }),
  })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const ended = once(child, 'close').then(([, signal]) => ({ signal: signal as NodeJS.Signals | null, errors }))
  const ready = once(createInterface(child.stdout), 'line').then(([line]): string => JSON.parse(line).url)
  return {
    ended,
    /** Undefined where it ended before it served. */
    url: Promise.race([ready, ended.then(() => undefined)]),
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

async function readRemains({ home, database: stored }: Place): Promise<Omit<BuildRemains, 'crashes'>> {
  const database = await stored.open()
  try {
    const { read } = database
    const builds = await read.selectFrom('builds').selectAll().execute()
    const capabilities = await read.selectFrom('capabilities').selectAll().execute()
    const events = await read.selectFrom('build_events').selectAll().orderBy('seq').execute()
    const versions = await read.selectFrom('capability_versions').selectAll().execute()
    const open = await read.selectFrom('inbox').select('id').where('state', '!=', 'done').execute()
    const ends = await read
      .selectFrom('session_events')
      .innerJoin('sessions', 'sessions.id', 'session_events.session_id')
      .select('data')
      .where('type', '=', 'turn_ended')
      .where('channel', '!=', builderChannel)
      .orderBy('at')
      .execute()
    const hasGap = events.some(({ seq }, index) => Number(seq) !== index + 1)
    return {
      build: builds.map(({ state }) => state).join(),
      capability: capabilities.map(({ state, version }) => `${state} ${version}`).join(),
      events: hasGap ? ['a gap'] : events.map(({ type }) => type),
      versions: versions.length,
      directories: await readDirectories(join(home, 'capabilities')),
      openMessages: open.length,
      reply: replyOf(ends.at(-1)?.data ?? '{}'),
    }
  } finally {
    await database.close()
  }
}

function replyOf(turnEnded: string): string {
  const { text }: { text?: string } = JSON.parse(turnEnded)
  return text ?? ''
}

async function readDirectories(root: string): Promise<BuildRemains['directories']> {
  const found = readdirSync(root, { recursive: true, withFileTypes: true })
  const versions = found.filter((entry) => entry.isDirectory() && entry.parentPath !== root)
  return Promise.all(
    versions.map(async ({ parentPath, name }) => ({
      path: name,
      isWhole: (await readVersion(join(parentPath, name))).ok,
    })),
  )
}

export function writeBuildHome(home: string, providerUrl: string): void {
  mkdirSync(join(home, 'providers.d'), { recursive: true, mode: 0o700 })
  const settings = [
    '[memory]\nconversations = false\nextraction = false',
    '[sessions]\ndebounce_ms = 0',
    '[http]\nrate_limit_per_minute = 10000000',
  ]
  writeFileSync(join(home, 'familiar.toml'), `${settings.join('\n')}\n`)
  writeFileSync(
    join(home, 'providers.d', 'fake.toml'),
    `type = "openai-compatible"\nbase_url = "${providerUrl}/v1"\napi_key_env = "CRASH_KEY"\n[models.main]\nmodel = "fake-model"\n`,
  )
}
