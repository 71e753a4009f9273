import type { MemoryRequest } from '../../protocol/memory-api.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { usageError } from '../command-error.ts'
import { formatDay } from './describe-memory.ts'
import { readInput } from './read-input.ts'
import { withMemory } from './with-memory.ts'

export interface AddInput {
  words: string[]
  title?: string
  category?: string
  tag?: string[]
  tier?: 'short_term' | 'long_term'
  priority?: number
  fact?: boolean
  confidence?: number
  multiValued?: boolean
  commitment?: boolean
  who?: string
  to?: string
  by?: string
  alias?: boolean
}

type Kind = 'note' | 'fact' | 'commitment' | 'alias'

/** Which options mean something for which kind; the others are refused, for they would be lost in silence. */
const optionsOf: Record<Kind, readonly (keyof AddInput)[]> = {
  note: ['title', 'category', 'tag', 'tier', 'priority'],
  fact: ['confidence', 'multiValued'],
  commitment: ['who', 'to', 'by'],
  alias: [],
}

export const addMemory: CommandHandler<AddInput> = async (context, input) => {
  const kind = kindOf(input)
  if (kind === 'fact') await addFact(context, input)
  else if (kind === 'commitment') await addCommitment(context, input)
  else if (kind === 'alias') await addAlias(context, input)
  else await addNote(context, input)
  return undefined
}

function kindOf(input: AddInput): Kind {
  const chosen = (['fact', 'commitment', 'alias'] as const).filter((kind) => input[kind])
  if (chosen.length > 1) throw usageError(`--${chosen.join(' and --')} do not go together.`, 'Add one after the other.')
  const kind = chosen[0] ?? 'note'
  for (const [other, options] of Object.entries(optionsOf)) {
    const stray = other === kind ? undefined : options.find((option) => input[option] !== undefined)
    if (stray)
      throw usageError(
        `--${flagOf(stray)} does nothing here.`,
        `It goes with ${other === 'note' ? 'a note' : `--${other}`}.`,
      )
  }
  return kind
}

function flagOf(option: string): string {
  return option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

async function addNote(context: CommandContext, input: AddInput & { json?: boolean }): Promise<void> {
  const { output } = context
  const given = input.words.join(' ')
  const content = given === '-' ? (await readInput(context)).toString() : given
  if (content.trim() === '')
    throw usageError('There is nothing to remember.', 'familiar memory add "TEXT", or - to read it.')
  const note: MemoryRequest = {
    content,
    ...(input.title !== undefined && { title: input.title }),
    ...(input.category !== undefined && { category: input.category }),
    ...(input.tag && { tags: input.tag }),
    ...(input.tier && { tier: input.tier }),
    ...(input.priority !== undefined && { priority: input.priority }),
  }
  const reply = await withMemory(context, (memory) => memory.add(note))
  if (input.json) output.printJson(reply)
  else output.print(`${reply.is_new ? 'Remembered' : 'Known already'}: ${reply.memory.citation}`)
}

async function addFact(context: CommandContext, input: AddInput & { json?: boolean }): Promise<void> {
  const { output } = context
  const [entity, attribute, value] = exactly(
    input.words,
    3,
    'a fact',
    'familiar memory add --fact Anna birthday "3 May"',
  )
  const reply = await withMemory(context, async (memory) => {
    if (input.multiValued) await memory.declareMultiValued(attribute)
    return memory.writeFact({
      entity,
      attribute,
      value,
      ...(input.confidence !== undefined && { confidence: input.confidence }),
    })
  })
  if (input.json) return output.printJson(reply)
  const { fact, old } = reply
  const told = { added: 'Remembered', confirmed: 'Known already', replaced: 'Remembered' }[reply.outcome]
  output.print(`${told}: ${fact.entity}: ${fact.attribute} is ${fact.value} (memory:${fact.id})`)
  if (old) output.print(`Before: ${old.value}, since ${formatDay(old.valid_from)}`)
}

async function addCommitment(context: CommandContext, input: AddInput & { json?: boolean }): Promise<void> {
  const { output } = context
  const what = input.words.join(' ')
  if (what.trim() === '')
    throw usageError('A commitment needs some text.', 'familiar memory add --commitment "send the photos" --to Ruth')
  const reply = await withMemory(context, (memory) =>
    memory.addCommitment({
      what,
      ...(input.who !== undefined && { who: input.who }),
      ...(input.to !== undefined && { to_whom: input.to }),
      ...(input.by !== undefined && { deadline: input.by }),
    }),
  )
  if (input.json) return output.printJson(reply)
  const { commitment } = reply
  const due = commitment.deadline === null ? '' : `, by ${formatDay(commitment.deadline)}`
  output.print(`${reply.is_new ? 'Remembered' : 'Known already'}: ${commitment.what}${due} (memory:${commitment.id})`)
  output.print(output.style('dim', `When it is kept: familiar memory done ${commitment.id}`))
}

async function addAlias(context: CommandContext, input: AddInput & { json?: boolean }): Promise<void> {
  const { output } = context
  const [alias, entity] = exactly(input.words, 2, 'a name', 'familiar memory add --alias Bea Beatrice')
  const reply = await withMemory(context, (memory) => memory.addAlias(alias, entity))
  if (input.json) output.printJson(reply)
  else output.print(`${reply.is_new ? 'Remembered' : 'Known already'}: ${reply.alias} is ${reply.entity}`)
}

/** Words are told apart by the shell: a value of several is quoted. */
export function exactly(
  words: readonly string[],
  count: 2 | 3,
  what: string,
  example: string,
): [string, string, string] {
  const [first = '', second = '', third = ''] = words
  if (words.length === count) return [first, second, third]
  throw usageError(`For ${what} there are ${count} words; these are ${words.length}.`, `Such as: ${example}`)
}
