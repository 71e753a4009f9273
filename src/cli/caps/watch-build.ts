import type { BuildEvent, BuildReply } from '../../protocol/build-api.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { CommandError, type ExitCode, exitCodes } from '../command-error.ts'
import { jsonLines } from '../json-lines.ts'
import { askQuestion } from './ask-question.ts'
import type { CapsClient } from './caps-client.ts'
import { findBuild } from './find-build.ts'
import { showBuildEvent } from './show-build-event.ts'
import { withCaps } from './with-caps.ts'

/** Where a reader stands: kept beside the connection, so that another one goes on after the last event shown. */
interface Watching {
  context: CommandContext
  build: BuildReply
  seen: number
  show(event: BuildEvent): void
  /** Where somebody can be asked: the question that they are asked now. */
  asking: { questionId: string; end: AbortController } | undefined
  /** They left while they were asked, where Ctrl-C is a key and no signal. */
  left: AbortController
}

/**
 * `familiar caps watch BUILD`: a build as it goes, from its beginning to its end. At a terminal, what it asks is asked
 * here; an answer from elsewhere takes the question away. Ctrl-C leaves the build as it is.
 */
export const watchBuild: CommandHandler<{ build: string }> = async (context, input) => {
  const { output, signal } = context
  const asks = !input.json && context.stdin.isTTY === true && context.stderr.isTTY === true
  const left = new AbortController()
  let isServed = true
  let watching: Watching | undefined
  try {
    return await withCaps(
      context,
      async (caps, { daemon }) => {
        isServed = daemon !== undefined
        const build: BuildReply = watching?.build ?? (await findBuild(caps, input.build))
        const show = input.json ? jsonLines(context) : (event: BuildEvent) => showBuildEvent(output, build, event)
        watching ??= { context, build, seen: 0, show, asking: undefined, left }
        return follow(caps, watching, asks)
      },
      { talks: true, endsOnAbort: true },
    )
  } catch (error) {
    if (!signal.aborted && !left.signal.aborted) throw error
    const again = `familiar caps watch ${watching?.build.id ?? input.build}`
    output.note(
      isServed ? `The build goes on. To watch it again: ${again}` : `The build rests. It goes on with: ${again}`,
    )
    return exitCodes.interrupted
  } finally {
    watching?.asking?.end.abort()
  }
}

async function follow(caps: CapsClient, watching: Watching, asks: boolean): Promise<ExitCode | undefined> {
  const { context, build, left } = watching
  const either = AbortSignal.any([context.signal, left.signal])
  for await (const event of caps.buildEvents(build.id, watching.seen, either)) {
    watching.seen = event.seq
    if (event.type === 'answer' && watching.asking?.questionId === event.question_id) watching.asking.end.abort()
    watching.show(event)
    if (event.type === 'complete') return undefined
    if (event.type === 'error') return exitCodes.failed
    if (asks && (event.type === 'question' || event.type === 'secret_request')) void ask(caps, watching, event)
  }
  // A Familiar that stops ends its streams first; another one may take the build up.
  throw new CommandError('Familiar was stopped.', { exitCode: exitCodes.unreachable, code: 'unreachable' })
}

/** Only what still waits: of a build that is watched from its beginning, most was answered long ago. Never throws. */
async function ask(
  caps: CapsClient,
  watching: Watching,
  event: Extract<BuildEvent, { type: 'question' | 'secret_request' }>,
): Promise<void> {
  const { context, left } = watching
  const questionId = event.question_id
  const end = new AbortController()
  try {
    if (!(await caps.questions()).some(({ id }) => id === questionId)) return
    watching.asking = { questionId, end }
    const secret = event.type === 'secret_request' ? event.secret : null
    const signal = AbortSignal.any([end.signal, context.signal])
    const answer = await askQuestion({ secret, output: context.stderr, signal })
    if (answer === undefined) {
      if (!signal.aborted) left.abort()
    } else if (secret === null) await caps.answer(questionId, answer)
    else await caps.giveSecret(questionId, answer)
  } catch (error) {
    // The build goes on: it was answered elsewhere, or its time is up.
    context.output.note(error instanceof Error ? error.message : String(error))
  }
}
