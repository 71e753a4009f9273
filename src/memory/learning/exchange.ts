import type { MemoryLabel } from '../memory.ts'

export interface ExchangeLine {
  speaker: 'user' | 'assistant'
  text: string
  at: number
  /** Its place in the log of the session. */
  seq: number
  /** A program said it in the user's place: it is not their own word. */
  isProgram?: true
}

/**
 * What was said in one turn, in order. What does not count as said is left out by whoever reads the log: automated
 * messages, and replies of a model that works by form. It may be empty.
 */
export interface Exchange {
  sessionId: string
  turnId: string
  at: number
  /** The last place in the log that belongs to it: where a watermark stands once it is done. */
  throughSeq: number
  lines: readonly ExchangeLine[]
  /** Whoever spoke is not to be believed: what is learnt from it is labelled so. */
  untrusted: boolean
  /** Words of others had been in sight: what the assistant said, or a model reads from it, may be theirs. */
  sawUntrusted?: true
}

/** Only the user's own words are evidence of anything. */
export function userTexts(exchanges: readonly Exchange[]): string[] {
  return exchanges.flatMap(({ lines }) => lines.filter((line) => line.speaker === 'user').map((line) => line.text))
}

export function labelOf(exchanges: readonly Exchange[]): MemoryLabel {
  return exchanges.some((exchange) => exchange.untrusted || exchange.sawUntrusted) ? 'untrusted' : 'internal'
}

/** What the user said themself, whatever else was in sight: that stays theirs. */
export function ownWords(exchanges: readonly Exchange[]): string[] {
  return userTexts(exchanges.filter((exchange) => !exchange.untrusted))
}
