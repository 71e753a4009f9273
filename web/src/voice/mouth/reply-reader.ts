import type { TurnItem, TurnPart } from '../../talk/conversation.ts'
import { takeSentences } from './sentences.ts'

/** Takes out of the turns of a conversation what is still to be said, sentence by sentence while they grow. */
export interface ReplyReader {
  knows(turnId: string): boolean
  next(turn: TurnItem): string[]
  /** Nothing of what the turn has begun to say; what it says later, to another message, counts again. */
  skip(turn: TurnItem): void
}

export function createReplyReader(): ReplyReader {
  const turns = new Map<string, { places: number[]; skipped: number }>()

  function known(turnId: string) {
    const reading = turns.get(turnId) ?? { places: [], skipped: 0 }
    turns.set(turnId, reading)
    return reading
  }

  return {
    knows: (turnId) => turns.has(turnId),
    next(turn) {
      const { places, skipped } = known(turn.id)
      const isOver = turn.outcome !== undefined
      // A silent reply is known for what it is only when it is whole.
      if (isOver && !turn.deliver) return []
      return turn.parts.flatMap((part, index) => {
        if (index < skipped) return []
        const isWhole = isOver || index < turn.parts.length - 1
        // A part only grows, so nothing of it is said twice.
        const { sentences, end } = takeSentences(textOf(part), { from: places[index] ?? 0, isWhole })
        places[index] = end
        return sentences
      })
    },
    skip(turn) {
      known(turn.id).skipped = turn.parts.length
    },
  }
}

function textOf(part: TurnPart): string {
  switch (part.kind) {
    case 'text':
    case 'said':
      return part.text
    case 'tool':
      // Whoever does not look at the page must know that it waits.
      return part.approval?.question ?? ''
    default:
      return ''
  }
}
