import type { CommandHandler } from '../command.ts'
import { CommandError } from '../command-error.ts'
import type { CapsClient } from './caps-client.ts'
import { withCaps } from './with-caps.ts'

/** `familiar caps answer QUESTION TEXT`: the Builder goes on with it. Secrets have a command of their own. */
export const answerQuestion: CommandHandler<{ question: string; text: string[] }> = async (context, input) => {
  const { output } = context
  const asked = await withCaps(
    context,
    async (caps) => {
      const found = await questionOf(caps, input.question)
      if (found.secret !== null) {
        throw new CommandError(`${found.name} asks for a secret, which is not to be seen on a command line.`, {
          code: 'bad_request',
          hint: `You are asked for it with: familiar caps secret ${found.name} ${found.secret}`,
        })
      }
      await caps.answer(found.id, input.text.join(' '))
      return found
    },
    { talks: true },
  )
  if (input.json) output.printJson({ ok: true, question_id: asked.id, build_id: asked.build_id })
  else output.print(`Answered. The Builder of ${asked.name} goes on: familiar caps watch ${asked.build_id}`)
  return undefined
}

/** By its id, or by as much of its beginning as no other has. */
async function questionOf(caps: CapsClient, wanted: string) {
  const questions = await caps.questions()
  const fitting = questions.filter(({ id }) => id.startsWith(wanted))
  const found = questions.find(({ id }) => id === wanted) ?? (fitting.length === 1 ? fitting[0] : undefined)
  if (found) return found
  const problem = fitting.length > 1 ? 'Several questions begin with' : 'Nobody waits for an answer to'
  throw new CommandError(`${problem} ${JSON.stringify(wanted)}.`, {
    code: fitting.length > 1 ? 'bad_request' : 'not_found',
    hint: 'Those that wait: familiar caps builds',
  })
}
