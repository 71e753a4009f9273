import { estimateTokens } from '../../base/tokens.ts'
import { describeExchange } from './describe-exchange.ts'
import type { Exchange } from './exchange.ts'

const tokensOfPart = 6_000

/** A stretch of conversation, small enough for one question to a model. */
export interface StretchPart {
  exchanges: readonly Exchange[]
  fromSeq: number
  throughSeq: number
}

/**
 * Cut between exchanges only. The same exchanges give the same parts, and what is added at the end changes none but the
 * last: so a run that was cut short goes on where it stopped.
 */
export function splitStretch(exchanges: readonly Exchange[], timeZone: string): StretchPart[] {
  const parts: Exchange[][] = []
  let tokens = Number.POSITIVE_INFINITY
  for (const exchange of exchanges) {
    const own = estimateTokens(describeExchange(exchange, timeZone))
    if (tokens + own > tokensOfPart) {
      parts.push([])
      tokens = 0
    }
    parts.at(-1)?.push(exchange)
    tokens += own
  }
  return parts.map((part) => ({
    exchanges: part,
    fromSeq: part[0]?.lines[0]?.seq ?? part[0]?.throughSeq ?? 0,
    throughSeq: part.at(-1)?.throughSeq ?? 0,
  }))
}
