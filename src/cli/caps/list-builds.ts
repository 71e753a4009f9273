import { formatDuration, formatTime, oneLine } from '../../base/format.ts'
import type { BuildQuestionReply, BuildReply } from '../../protocol/build-api.ts'
import type { CommandHandler } from '../command.ts'
import type { Output } from '../output.ts'
import { withCaps } from './with-caps.ts'

/** `familiar caps builds [NAME]`: what is built and was built, newest first, and what waits for an answer. */
export const listBuilds: CommandHandler<{ name?: string; limit: number }> = async (context, input) => {
  const { output } = context
  const { builds, questions } = await withCaps(context, async (caps) => ({
    builds: await caps.builds({ name: input.name, limit: Math.min(500, input.limit) }),
    questions: await caps.questions(),
  }))
  if (input.json) {
    output.printJson({ builds, questions })
    return undefined
  }
  if (builds.length === 0) output.print('Nothing was built yet. Ask for what is missing in a chat.')
  else {
    output.printTable(
      builds.map((build) => [
        build.id,
        build.name,
        build.kind,
        stateOf(output, build),
        formatTime(build.created_at),
        tookOf(build),
        oneLine(build.error ?? build.description, 200),
      ]),
      { header: ['Build', 'Capability', 'Kind', 'State', 'Begun', 'Took', ''] },
    )
  }
  for (const question of questions) output.print(`\n${describeQuestion(output, question)}`)
  return undefined
}

/** What is asked, and the command that answers it. */
export function describeQuestion(
  output: Output,
  asked: Pick<BuildQuestionReply, 'id' | 'name' | 'question' | 'secret' | 'expires_at'>,
): string {
  const { id, name, question, secret } = asked
  const who = output.style('bold', secret === null ? `${name} asks` : `${name} needs ${secret}`)
  const command = secret === null ? `familiar caps answer ${id} "…"` : `familiar caps secret ${name} ${secret}`
  return `${who}: ${question}\n  until ${formatTime(asked.expires_at)}: ${command}`
}

function stateOf(output: Output, { state }: BuildReply): string {
  if (state === 'running') return output.style('yellow', state)
  return state === 'complete' ? output.style('green', state) : output.style('red', state)
}

function tookOf({ created_at, ended_at }: BuildReply): string {
  return ended_at === null ? '' : formatDuration(Date.parse(ended_at) - Date.parse(created_at))
}
