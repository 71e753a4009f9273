import { formatTime } from '../../base/format.ts'
import type { BuildEvent, BuildReply } from '../../protocol/build-api.ts'
import { exitCodes } from '../command-error.ts'
import type { Output } from '../output.ts'
import { describeQuestion } from './list-builds.ts'

/** One line for each thing that happens; a failure as a failure. */
export function showBuildEvent(output: Output, build: Pick<BuildReply, 'name'>, event: BuildEvent): void {
  if (event.type === 'error') output.fail(event.message, undefined, exitCodes.failed)
  else output.print(`${output.style('dim', formatTime(event.at))}  ${describe(output, build.name, event)}`)
}

function describe(output: Output, name: string, event: Exclude<BuildEvent, { type: 'error' }>): string {
  switch (event.type) {
    case 'progress':
      return event.message
    case 'question':
      return describeQuestion(output, { ...event, id: event.question_id, name, secret: null })
    case 'secret_request':
      return describeQuestion(output, { ...event, id: event.question_id, name })
    case 'answer':
      return answerOf(event)
    case 'complete':
      return output.style('green', event.message)
  }
}

function answerOf({ answer, is_expired }: Extract<BuildEvent, { type: 'answer' }>): string {
  if (is_expired) return 'Nobody answered in time; the Builder goes on without.'
  return answer === null ? 'The secret was given.' : `Answered: ${answer}`
}
