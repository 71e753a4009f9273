import { parseJson } from '../../base/json.ts'
import { formatDuration, formatTime, oneLine, toDisplayText } from '../../base/text.ts'
import { type Choices, choicesIn } from '../../protocol/choices.ts'
import {
  type BuildEvent,
  type BuildQuestionReply,
  type BuildReply,
  buildEventSchema,
  builds,
  capabilities,
} from '../../protocol/custom-tools.ts'
import {
  type CommandContext,
  CommandError,
  type CommandHandler,
  type ExitCode,
  exitCodes,
  idStartingWith,
  jsonLines,
  messageOf,
} from '../command.ts'
import { type Api, type ApiClient, apiCommand, notUnderstood, withApi, withFamiliar } from '../connect.ts'
import type { Output } from '../output.ts'

/** The position of a reader, kept outside of the connection so that a new one continues after the last event shown. */
interface Watching {
  context: CommandContext
  build: BuildReply
  seen: number
  show(event: BuildEvent): void
  /** In a terminal: the question that is being asked. */
  asking: { questionId: string; end: AbortController } | undefined
  /** Aborted by Ctrl-C at a question, where it is a key and not a signal. */
  left: AbortController
}

/**
 * Follows a build from its beginning to its end. At a terminal, its questions are asked here; an answer from elsewhere
 * removes the question. Ctrl-C leaves the build as it is.
 */
export const watchBuild: CommandHandler<{ build: string }> = async (context, input) => {
  const { output, signal } = context
  const asks = !input.json && context.stdin.isTTY === true && context.stderr.isTTY === true
  const left = new AbortController()
  let isServed = true
  let watching: Watching | undefined
  try {
    return await withFamiliar(
      context,
      async (client, { daemon }) => {
        isServed = daemon !== undefined
        const build: BuildReply = watching?.build ?? (await findBuild(client.api(builds), input.build))
        const show = input.json ? jsonLines(context) : (event: BuildEvent) => showBuildEvent(output, build, event)
        watching ??= { context, build, seen: 0, show, asking: undefined, left }
        return follow(client, watching, asks)
      },
      { talks: true, endsOnAbort: true },
    )
  } catch (error) {
    if (!signal.aborted && !left.signal.aborted) throw error
    const again = output.commandLine(`caps watch ${watching?.build.id ?? input.build}`)
    output.note(
      isServed ? `The build continues. To watch it again: ${again}` : `The build is paused. To continue: ${again}`,
    )
    return exitCodes.interrupted
  } finally {
    watching?.asking?.end.abort()
  }
}

/** The events of a build after a cursor, to its end. */
export async function* buildEvents(
  { transport }: Pick<ApiClient, 'transport'>,
  { id, after }: { id: string; after: number },
  signal: AbortSignal,
): AsyncGenerator<BuildEvent> {
  const path = `/builds/${encodeURIComponent(id)}/events?after=${after}`
  for await (const { data } of transport.events(path, { signal })) {
    const event = parseJson(data, buildEventSchema)
    if (!event.ok) throw notUnderstood(path, event.message)
    yield event.value
  }
}

async function follow(client: ApiClient, watching: Watching, asks: boolean): Promise<ExitCode | undefined> {
  const { context, build, left } = watching
  const either = AbortSignal.any([context.signal, left.signal])
  for await (const event of buildEvents(client, { id: build.id, after: watching.seen }, either)) {
    watching.seen = event.seq
    if (event.type === 'answer' && watching.asking?.questionId === event.question_id) watching.asking.end.abort()
    watching.show(event)
    if (event.type === 'complete') return undefined
    if (event.type === 'error') return exitCodes.failed
    if (asks && (event.type === 'question' || event.type === 'secret_request'))
      void ask(client.api(builds), watching, event)
  }
  // A Familiar that stops ends its streams first; another one may resume the build.
  throw new CommandError('Familiar was stopped.', { exitCode: exitCodes.unreachable, code: 'unreachable' })
}

/** Asks only open questions: most questions of a build that is watched from its beginning are answered. Never throws. */
async function ask(
  api: Api<typeof builds>,
  watching: Watching,
  event: Extract<BuildEvent, { type: 'question' | 'secret_request' }>,
): Promise<void> {
  const { context, left } = watching
  const questionId = event.question_id
  const end = new AbortController()
  try {
    if (!(await api.questions()).questions.some(({ id }) => id === questionId)) return
    watching.asking = { questionId, end }
    const secret = event.type === 'secret_request' ? event.secret : null
    const signal = AbortSignal.any([end.signal, context.signal])
    const answer = await askQuestion({ secret, output: context.stderr, signal })
    if (answer === undefined) {
      if (!signal.aborted) left.abort()
    } else if (secret === null) await api.answer({ id: questionId, answer })
    else await api.giveSecret({ id: questionId, value: answer })
  } catch (error) {
    // The build continues: the question was answered elsewhere, or it expired.
    context.output.note(messageOf(error))
  }
}

/** The build continues with the answer. Secrets have their own command. */
export const answerQuestion: CommandHandler<{ question: string; text: string[] }> = async (context, input) => {
  const asked = await withApi(
    context,
    builds,
    async (api) => {
      const found = await questionOf(api, input.question)
      if (found.secret !== null) {
        throw new CommandError(`${found.name} asks for a secret, which others could see on the command line.`, {
          code: 'bad_request',
          hint: `To enter it: familiar caps config ${found.name} ${found.secret}`,
        })
      }
      await api.answer({ id: found.id, answer: input.text.join(' ') })
      return found
    },
    { talks: true },
  )
  return context.output.report(
    input.json,
    { ok: true, question_id: asked.id, build_id: asked.build_id },
    `Answered. To follow the build of ${asked.name}: ${context.output.commandLine(`caps watch ${asked.build_id}`)}`,
  )
}

/** By its id, or by as much of its beginning as no other has. */
async function questionOf(api: Api<typeof builds>, wanted: string) {
  const { questions } = await api.questions()
  const fitting = questions.filter(({ id }) => id.startsWith(wanted))
  const found = questions.find(({ id }) => id === wanted) ?? (fitting.length === 1 ? fitting[0] : undefined)
  if (found) return found
  const problem = fitting.length > 1 ? 'Several questions start with' : 'There is no open question'
  throw new CommandError(`${problem} ${JSON.stringify(wanted)}.`, {
    code: fitting.length > 1 ? 'bad_request' : 'not_found',
    hint: 'Open questions: familiar caps builds',
  })
}

/** Asks at the terminal, below the question; a secret is hidden. Undefined after Ctrl-C or when the signal aborts. */
async function askQuestion(asked: {
  secret: string | null
  output: NodeJS.WriteStream
  signal: AbortSignal
}): Promise<string | undefined> {
  const { secret, output, signal } = asked
  const clack = await import('@clack/prompts')
  const options = {
    message: toDisplayText(secret ?? 'Your answer'),
    validate: (text: string | undefined) =>
      text === undefined || text.trim() === '' ? 'A value is required.' : undefined,
    output,
    signal,
  }
  const answer = secret === null ? await clack.text(options) : await clack.password(options)
  return typeof answer === 'symbol' ? undefined : answer.trim()
}

const maxBuilds = 500

/** By its id, by as much of its beginning as no other has, or the newest of the capability of that name. */
async function findBuild(api: Api<typeof builds>, wanted: string): Promise<BuildReply> {
  const { builds: known } = await api.list({ limit: maxBuilds })
  const exact = known.find(({ id, name }) => id === wanted || name === wanted)
  const id = exact?.id ?? idStartingWith(known, wanted, 'builds', 'familiar caps builds')
  const found = known.find((build) => build.id === id)
  if (found) return found
  throw new CommandError(`There is no build ${JSON.stringify(wanted)}, and no capability with that name.`, {
    code: 'not_found',
    hint: 'Builds: familiar caps builds',
  })
}

/** The newest build comes first, then the open questions. */
export const listBuilds = apiCommand(
  builds,
  async (api, { name, limit }: { name?: string; limit: number }) => ({
    ...(await api.list({ name, limit: Math.min(500, limit) })),
    ...(await api.questions()),
  }),
  (reply, output) => {
    const rows = reply.builds.map((build) => [
      build.id,
      build.name,
      build.kind,
      stateOf(output, build),
      formatTime(build.created_at),
      tookOf(build),
      oneLine(build.error ?? build.description, 200),
    ])
    if (rows.length === 0) output.print('No builds yet. Ask for a tool in a chat.')
    else output.printTable(rows, { header: ['Build', 'Capability', 'Kind', 'State', 'Started', 'Took', ''] })
    for (const question of reply.questions) output.print(`\n${describeQuestion(output, question)}`)
  },
)

/** The question and the command that answers it. */
export function describeQuestion(
  output: Output,
  asked: Pick<BuildQuestionReply, 'id' | 'name' | 'question' | 'secret' | 'expires_at'> & {
    choices?: Pick<Choices, 'options'> | undefined
  },
): string {
  const { id, name, question, secret, choices } = asked
  const options = choices?.options.map(({ label, description }, at) => {
    return `\n  ${at + 1}. ${label}${description ? `: ${description}` : ''}`
  })
  const who = output.style('bold', secret === null ? `${name} asks` : `${name} needs ${secret}`)
  const command = secret === null ? `caps answer ${id} "…"` : `caps config ${name} ${secret}`
  // A permission waits without a limit, which is written as years.
  const isUnlimited = Date.parse(asked.expires_at) - Date.now() > 365 * 24 * 60 * 60_000
  const until = isUnlimited ? 'waits for your answer' : `until ${formatTime(asked.expires_at)}`
  return `${who}: ${question}${options?.join('') ?? ''}\n  ${until}: ${output.commandLine(command)}`
}

function stateOf(output: Output, { state }: BuildReply): string {
  if (state === 'running' || state === 'waiting') return output.style('yellow', state)
  return state === 'complete' ? output.style('green', state) : output.style('red', state)
}

function tookOf({ created_at, ended_at }: BuildReply): string {
  return ended_at === null ? '' : formatDuration(Date.parse(ended_at) - Date.parse(created_at))
}

/** Rebuilds it in the background; the old version stays active until the new one passes. */
export const repairCapability = apiCommand(
  capabilities,
  (api, { name, problem }: { name: string; problem?: string }) => api.repair({ name, problem }),
  (build, output, _input, isServed) => {
    output.print(`Repairing ${build.name}: build ${build.id}`)
    // If Familiar runs inside this command only, the build pauses when the command ends.
    output.note(`To ${isServed ? 'watch' : 'continue'} it: ${output.commandLine(`caps watch ${build.id}`)}`)
  },
  { talks: true, once: true },
)

function showBuildEvent(output: Output, build: Pick<BuildReply, 'name'>, event: BuildEvent): void {
  if (event.type === 'error') output.fail(event.message, undefined, exitCodes.failed)
  else output.print(`${output.style('dim', formatTime(event.at))}  ${describe(output, build.name, event)}`)
}

function describe(output: Output, name: string, event: Exclude<BuildEvent, { type: 'error' }>): string {
  switch (event.type) {
    case 'progress':
      return event.message
    case 'question':
      return describeQuestion(output, {
        ...event,
        id: event.question_id,
        name,
        secret: null,
        choices: choicesIn(event),
      })
    case 'secret_request':
      return describeQuestion(output, { ...event, id: event.question_id, name })
    case 'answer':
      return answerOf(event)
    case 'complete':
      return output.style('green', event.message)
  }
}

export function answerOf({ answer, is_expired }: Extract<BuildEvent, { type: 'answer' }>): string {
  if (is_expired) return 'No answer in time; the build continues without it.'
  return answer === null ? 'The secret was entered.' : `Answered: ${answer}`
}

/** The active version stays. */
export const stopBuild: CommandHandler<{ build: string }> = async (context, input) => {
  const { build, stopped } = await withApi(context, builds, async (api) => {
    const found = await findBuild(api, input.build)
    return { build: found, ...(await api.stop({ id: found.id })) }
  })
  return context.output.report(
    input.json,
    { build_id: build.id, stopped },
    `The build of ${build.name} ${stopped ? 'is stopped' : `had already ended: ${build.state}`}.`,
  )
}
