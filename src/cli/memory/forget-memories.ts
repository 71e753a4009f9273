import { plural } from '../../base/format.ts'
import type { ForgottenMemoryReply } from '../../protocol/memory-api.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { CommandError, exitCodes } from '../command-error.ts'
import { confirm } from '../confirm.ts'
import { exactly } from './add-memory.ts'
import { shortText } from './describe-memory.ts'
import type { MemoryClient } from './memory-client.ts'
import { withMemory } from './with-memory.ts'

export interface ForgetInput {
  words: string[]
  everything?: boolean
  alias?: boolean
  yes?: boolean
}

type Input = ForgetInput & { json?: boolean }

export const forgetMemories: CommandHandler<ForgetInput> = async (context, input) => {
  if (input.alias) return forgetAlias(context, input)
  return input.everything ? forgetEverything(context, input) : forgetSome(context, input)
}

async function forgetSome(context: CommandContext, input: Input) {
  const { output } = context
  if (!input.yes) {
    const texts = await withMemory(context, (memory) => describeAll(memory, input.words))
    for (const text of texts) output.note(text)
    if (!(await confirm(context, `Forget ${texts.length === 1 ? 'this' : `these ${texts.length}`}?`))) {
      output.note('Nothing was changed.')
      return exitCodes.failed
    }
  }
  const forgotten: ForgottenMemoryReply[] = []
  await withMemory(context, async (memory) => {
    for (const word of input.words.slice(forgotten.length)) {
      const reply = await memory.forget(word)
      forgotten.push(reply)
      if (!input.json) printForgotten(context, reply)
    }
  })
  if (input.json) output.printJson({ forgotten })
  return undefined
}

/** What is to be forgotten, in its own words; a title stands for itself. */
async function describeAll(client: MemoryClient, words: readonly string[]): Promise<string[]> {
  const texts: string[] = []
  for (const word of words) {
    const found = await client.get(word).catch((error: unknown) => {
      if (error instanceof CommandError && error.code === 'not_found') return undefined
      throw error
    })
    texts.push(found ? shortText(found.memory) : word)
  }
  return texts
}

function printForgotten({ output }: CommandContext, reply: ForgottenMemoryReply): void {
  output.print(`Forgotten: ${shortText(reply.memory)}`)
  for (const memory of reply.also_forgotten) output.print(`  with it: ${shortText(memory)}`)
  output.print(output.style('dim', `Back again, for 30 days: familiar memory undo ${reply.change_id}`))
}

async function forgetEverything(context: CommandContext, input: Input) {
  const { output } = context
  const about = input.words
    .join(' ')
    .replace(/^about\s+/i, '')
    .trim()
  const question = `Forget everything that mentions "${about}", in memories and conversations, for good?`
  if (!input.yes && !(await confirm(context, question))) {
    output.note('Nothing was changed.')
    return exitCodes.failed
  }
  const reply = await withMemory(context, (memory) => memory.forgetEverything(about))
  if (input.json) output.printJson(reply)
  else {
    const memories = plural(reply.memories, 'memory', 'memories')
    output.print(`${memories} forgotten, and the words in ${plural(reply.events, 'event')} of conversations.`)
    output.print(output.style('dim', 'Backups and files outside the home are as they were.'))
  }
  return undefined
}

async function forgetAlias(context: CommandContext, input: Input) {
  const { output } = context
  const [alias, entity] = exactly(input.words, 2, 'a name', 'familiar memory forget --alias Bea Beatrice')
  const reply = await withMemory(context, (memory) => memory.removeAlias(alias, entity))
  if (input.json) output.printJson(reply)
  else output.print(`${alias} no longer stands for ${entity}.`)
  return undefined
}
