import type { Projection, UserEntry } from '../sessions/projection.ts'
import type { TurnState } from '../sessions/turn-state.ts'
import type { ToolContext } from '../tools/tool.ts'

/** What tools are told of the user's part in a turn. */
export type Said = Pick<ToolContext, 'userText' | 'answers'>

export function saidIn(projection: Projection, turn: TurnState): Said {
  // Only the first entry is theirs: the others are the loop's own words to the model.
  const [said] = userEntriesOf(projection, turn)
  // Nobody said what a program sent.
  if (!said || said.isOthers) return { userText: '', answers: null }
  return { userText: said.texts.join('\n'), answers: turn.answers }
}

export function userEntriesOf(projection: Projection, turn: TurnState): UserEntry[] {
  return projection.entries.flatMap((entry) => (entry.role === 'user' && entry.turnId === turn.id ? [entry] : []))
}
