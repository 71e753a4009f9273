import { formatCount } from '../../base/format.ts'
import type { MemoryReply } from '../../protocol/memory-api.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { usageError } from '../command-error.ts'
import { formatDay, shortText } from './describe-memory.ts'
import type { MemoryClient } from './memory-client.ts'
import { withMemory } from './with-memory.ts'

export interface ListInput {
  kind?: string
  limit: number
  entity?: string
  attribute?: string
  value?: string
  history?: boolean
  count?: boolean
  state?: string
}

type Input = ListInput & { json?: boolean }

const mostOfPage = 500

export const listMemories: CommandHandler<ListInput> = async (context, input) => {
  const asksFacts = [input.attribute, input.value, input.history, input.count].some((option) => option !== undefined)
  if (input.kind === 'commitment') {
    if (asksFacts) throw usageError('--attribute, --value, --history and --count are for facts.', 'Leave out --kind.')
    await listCommitments(context, input)
    return undefined
  }
  if (input.state) throw usageError('--state does nothing here.', 'It goes with --kind commitment.')
  if (input.kind === 'fact' || ((asksFacts || input.entity !== undefined) && input.kind === undefined)) {
    await listFacts(context, input)
  } else if (asksFacts || input.entity !== undefined) {
    throw usageError(`--entity, --attribute, --value, --history and --count are not for ${input.kind}.`)
  } else if (input.kind === 'alias') await listAliases(context, input)
  else await listAll(context, input)
  return undefined
}

async function listAll(context: CommandContext, input: Input): Promise<void> {
  const { output } = context
  const memories = await withMemory(context, (memory) => readPages(memory, input))
  if (input.json) return output.printJson({ memories })
  if (memories.length === 0) return output.print('Nothing is remembered yet. Begin with: familiar memory add "TEXT"')
  output.printTable(
    memories.map((memory) => [formatDay(memory.created_at), memory.kind, memory.id, shortText(memory)]),
    { header: ['Day', 'Kind', 'Id', 'Memory'] },
  )
}

async function readPages(client: MemoryClient, { kind, limit }: Input): Promise<MemoryReply[]> {
  const found: MemoryReply[] = []
  let cursor: string | undefined
  do {
    const page = await client.list({ kind, limit: Math.min(mostOfPage, limit - found.length), cursor })
    found.push(...page.memories)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined && found.length < limit)
  return found
}

async function listFacts(context: CommandContext, input: Input): Promise<void> {
  const { output } = context
  const { entity, attribute, value, history = false, count = false } = input
  const limit = Math.min(mostOfPage, input.limit)
  const reply = await withMemory(context, (memory) => memory.facts({ entity, attribute, value, history, count, limit }))
  if (input.json) return output.printJson(reply)
  if (reply.facts.length === 0) output.print('No such fact is known.')
  else {
    output.printTable(
      reply.facts.map((fact) => [
        fact.entity,
        fact.attribute,
        fact.valid_to === null
          ? formatDay(fact.valid_from)
          : `${formatDay(fact.valid_from)} to ${formatDay(fact.valid_to)}`,
        fact.id,
        fact.value,
      ]),
      { header: ['Entity', 'Attribute', 'Since', 'Id', 'Value'] },
    )
  }
  if (reply.entities !== undefined) output.print(`${formatCount(reply.entities)} in all.`)
}

async function listCommitments(context: CommandContext, input: Input): Promise<void> {
  const { output } = context
  const limit = Math.min(mostOfPage, input.limit)
  const reply = await withMemory(context, (memory) =>
    memory.commitments({ state: input.state, who: input.entity, limit }),
  )
  if (input.json) return output.printJson(reply)
  if (reply.commitments.length === 0) return output.print('There are no such commitments.')
  output.printTable(
    reply.commitments.map(({ state, deadline, who, to_whom, id, what }) => [
      state,
      deadline === null ? '' : formatDay(deadline),
      who === 'user' ? 'you' : who,
      to_whom ?? '',
      id,
      what,
    ]),
    { header: ['State', 'By', 'Who', 'To', 'Id', 'What'] },
  )
}

async function listAliases(context: CommandContext, input: Input): Promise<void> {
  const { output } = context
  const reply = await withMemory(context, (memory) => memory.aliases())
  if (input.json) return output.printJson(reply)
  if (reply.aliases.length === 0) return output.print('No other names are known.')
  output.printTable(
    reply.aliases.map(({ alias, entity }) => [alias, entity]),
    { header: ['Name', 'Stands for'] },
  )
}
