import { formatTime, plural } from '../../base/format.ts'
import type { MemoryDetailReply } from '../../protocol/memory-api.ts'
import type { CommandHandler } from '../command.ts'
import type { Output } from '../output.ts'
import { describeOrigin, formatDay, printFields } from './describe-memory.ts'
import { withMemory } from './with-memory.ts'

export const showMemory: CommandHandler<{ id: string }> = async (context, input) => {
  const { output } = context
  const reply = await withMemory(context, (memory) => memory.get(input.id))
  if (input.json) output.printJson(reply)
  else printMemory(output, reply)
  return undefined
}

function printMemory(output: Output, reply: MemoryDetailReply): void {
  const { memory, fact, episode, commitment } = reply
  output.print(output.style('bold', memory.title ?? memory.kind))
  output.print(memory.content)
  output.print()
  printFields(output, [
    ['Kind', memory.kind],
    ['Id', memory.id],
    ['From', describeOrigin(memory)],
    ['File', memory.file && `${memory.file.file}, lines ${memory.file.first_line} to ${memory.file.last_line}`],
    ['Category', memory.category],
    ['Tags', memory.tags.join(', ')],
    ['Speaks of', daysOf(memory.happened_from, memory.happened_until)],
    ['Matters', `${memory.tier === 'long_term' ? 'for long' : 'for now'}, priority ${memory.priority}`],
    ['Used', memory.use_count > 0 ? `${plural(memory.use_count, 'time')}, last ${formatTime(memory.used_at)}` : null],
    [
      'Superseded',
      memory.superseded_at && `${formatTime(memory.superseded_at)} by ${memory.superseded_by ?? 'nothing'}`,
    ],
    ['Sure', fact && `${Math.round(fact.confidence * 100)}%`],
    [
      'True',
      fact && `since ${formatDay(fact.valid_from)}${fact.valid_to ? `, until ${formatDay(fact.valid_to)}` : ''}`,
    ],
    ['Decided', episode?.decisions.join('; ')],
    ['Tone', episode?.tone],
    ['State', commitment?.state],
    ['By', commitment?.deadline && formatDay(commitment.deadline)],
  ])
  printRest(output, reply)
}

function printRest(output: Output, { memory, edges, history }: MemoryDetailReply): void {
  const before = history.facts.filter((fact) => fact.id !== memory.id)
  if (before.length > 0) output.print('\nOther values:')
  for (const { value, valid_from: from, valid_to: to, id } of before) {
    output.print(`  ${value}, ${formatDay(from)} to ${to ? formatDay(to) : 'now'}  ${output.style('dim', id)}`)
  }
  if (edges.length > 0) output.print('\nBelongs to:')
  for (const { source_id: source, target_id: target, relation } of edges) {
    output.print(source === memory.id ? `  ${relation} → ${target}` : `  ${source} → ${relation}`)
  }
  if (history.changes.length > 0) output.print('\nChanged:')
  for (const change of history.changes) {
    const by = change.made_by === 'user' ? 'you' : 'Familiar'
    output.print(`  ${formatTime(change.at)} by ${by}: familiar memory undo ${change.id}`)
  }
}

function daysOf(from: string | null, until: string | null): string | null {
  if (from === null) return null
  const first = from.slice(0, 10)
  const last = until?.slice(0, 10) ?? first
  return first === last ? first : `${first} to ${last}`
}
