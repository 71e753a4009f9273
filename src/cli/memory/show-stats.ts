import { formatBytes, formatCount, formatTime, plural } from '../../base/format.ts'
import type { MemoryStatsReply, TroubleReply } from '../../protocol/memory-upkeep-api.ts'
import type { CommandHandler } from '../command.ts'
import { printFields } from './describe-memory.ts'
import { withMemory } from './with-memory.ts'

export const showStats: CommandHandler<object> = async (context, input) => {
  const { output } = context
  const reply = await withMemory(context, (memory) => memory.stats())
  if (input.json) output.printJson(reply)
  else printFields(output, describeStats(reply))
  return undefined
}

function describeStats(reply: MemoryStatsReply): [string, string | null][] {
  const { memories, files, embedding, learning } = reply
  return [
    ['Notes', formatCount(memories.note)],
    ['Facts', formatCount(memories.fact)],
    ['Episodes', formatCount(memories.episode)],
    ['Commitments', formatCount(memories.commitment)],
    ['Passages', formatCount(memories.chunk)],
    ['Superseded', formatCount(reply.superseded)],
    ['Names', formatCount(reply.aliases)],
    ['Edges', formatCount(reply.edges)],
    ['Can be undone', plural(reply.changes, 'change')],
    ['Files', `${formatCount(files.files)} in ${plural(files.roots, 'place')}, ${formatBytes(files.bytes)}`],
    ['Embedding', describeEmbedding(embedding)],
    ['Learning', learning.waiting > 0 ? `${plural(learning.waiting, 'session')} waiting` : 'up to date'],
    ['Extraction', describeTrouble(learning.extraction)],
    ['Consolidation', describeTrouble(learning.consolidation)],
    ['Database', formatBytes(reply.database_bytes)],
  ]
}

function describeEmbedding(embedding: MemoryStatsReply['embedding']): string {
  if (!embedding) return 'none: recall goes by words'
  const { model, embedded, total, problem } = embedding
  const progress = `${formatCount(embedded)} of ${formatCount(total)} with ${model}`
  return problem ? `${progress}; it does not come on: ${problem}` : progress
}

function describeTrouble(trouble: TroubleReply | null): string | null {
  if (!trouble) return null
  const { failures, passed_over, last } = trouble
  const passed = passed_over > 0 ? `, ${passed_over} passed over` : ''
  return `${plural(failures, 'failure')}${passed}; last ${formatTime(last.at)}: ${last.reason}`
}
