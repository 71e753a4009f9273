import { plural } from '../../base/format.ts'
import type { DeepProgressReply, MemorySearchReply } from '../../protocol/memory-api.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { usageError } from '../command-error.ts'
import { describeOrigin, fitLine, formatDay, shortText } from './describe-memory.ts'
import { watchProgress } from './watch-progress.ts'
import { withMemory } from './with-memory.ts'

export interface SearchInput {
  words: string[]
  kind?: string
  limit: number
  explain?: boolean
  deep?: boolean
  style?: 'structured' | 'narrative' | 'factual'
}

export const searchMemories: CommandHandler<SearchInput> = async (context, input) => {
  const { output } = context
  const q = input.words.join(' ')
  if (input.deep) return searchDeep(context, q, input)
  if (input.style) throw usageError('--style does nothing here.', 'It goes with --deep.')
  const { kind, limit, explain = false } = input
  const reply = await withMemory(context, (memory) => memory.search({ q, kind, limit, explain }))
  if (input.json) output.printJson(reply)
  else if (reply.results.length === 0) output.print('Nothing speaks to that.')
  else for (const result of reply.results) printResult(context, result)
  return undefined
}

type Result = MemorySearchReply['results'][number]

function printResult({ output, stdout }: CommandContext, { rank, memory, why }: Result): void {
  const line = `${rank}. ${formatDay(memory.created_at)} ${memory.kind}  ${shortText(memory)}`
  output.print(fitLine(line, stdout))
  output.print(output.style('dim', `   ${memory.citation}`))
  if (!why) return
  for (const text of explainResult(why)) output.print(output.style('dim', `   ${text}`))
  output.print(output.style('dim', `   from: ${describeOrigin(memory)}`))
}

/** `why: words 1.00 (rank 1) adds 0.42; recency 0.93 adds 0.05`, and what it has faded to. */
export function explainResult({ signals, strength }: NonNullable<Result['why']>): string[] {
  const spoke = signals
    .toSorted((a, b) => b.added - a.added)
    .map(({ name, rank, value, added }) => {
      const place = rank === undefined ? '' : ` (rank ${rank})`
      return `${name} ${value.toFixed(2)}${place} adds ${added.toFixed(2)}`
    })
  return [`why: ${spoke.join('; ') || 'nothing else spoke to it'}`, `strength: ${strength.toFixed(2)}`]
}

async function searchDeep(context: CommandContext, question: string, input: SearchInput & { json?: boolean }) {
  const { output } = context
  if (input.kind || input.explain) throw usageError('--deep takes neither --kind nor --explain.')
  const reply = await watchProgress(context, {
    describe: (progress: DeepProgressReply) => {
      if (progress.status === 'expanding') return 'asking in other ways'
      if (progress.status === 'searching') return `searching in ${plural(progress.searches.length, 'way')}`
      return `summing up ${plural(progress.count, 'memory', 'memories')}`
    },
    stopped: 'Stopped.',
    work: (memory, watched) =>
      memory.deep({ question, limit: Math.min(50, input.limit), ...(input.style && { style: input.style }) }, watched),
  })
  if (input.json) {
    output.printJson(reply)
    return undefined
  }
  output.print(reply.summary)
  for (const note of reply.notes) output.note(output.style('dim', note))
  return undefined
}
