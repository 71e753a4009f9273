import type { HttpContext } from '../http-dependencies.ts'
import type { PastTurn } from './past-turns.ts'

/** What a request says of being one that was sent before. */
export interface Repeat {
  key: string | undefined
  /** OpenAI's clients count how often they have tried. */
  isRetry: boolean
}

export function readRepeat(context: HttpContext): Repeat {
  const tries = Number(context.req.header('x-stainless-retry-count') ?? 0)
  return { key: context.req.header('idempotency-key'), isRetry: tries > 0 }
}

/** Whether the turn is what the request asks for once more. What failed is to be done again. */
export function isRepeatOf({ key, isRetry }: Repeat, turn: PastTurn): boolean {
  return key === undefined ? isRetry && turn.outcome !== 'failed' : turn.key === key
}
