import type { ToolOutcome } from '../tool.ts'
import type { Spawn } from './subagents.ts'

/** What a conversation is told of its sub-agents. Labels follow what they had in sight, not what they say (SEC-17). */
export function outcomeOfSpawns(spawns: readonly Spawn[]): ToolOutcome {
  const results = spawns.flatMap(({ result }) => (result ? [result] : []))
  return {
    text: spawns.length === 1 ? spawns.map(tellOne).join('') : spawns.map(tellWithId).join('\n\n'),
    isError: spawns.length > 0 && spawns.every(({ state }) => state === 'failed' || state === 'stopped'),
    ...(results.some(({ seen }) => seen.untrusted) && { label: 'untrusted' }),
    ...(results.some(({ seen }) => seen.private) && { isPrivate: true }),
  }
}

function tellWithId(spawn: Spawn): string {
  return `Sub-agent ${spawn.id}: ${tellOne(spawn)}`
}

function tellOne({ state, result }: Spawn): string {
  if (!result) return state === 'stopped' ? 'It was stopped.' : 'It is still at work.'
  switch (result.outcome) {
    case 'completed':
      return result.text
    case 'question':
      return `It could not go on without an answer: ${result.text}`
    default:
      return `It did not finish (${result.outcome}): ${result.text}`
  }
}
