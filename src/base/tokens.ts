import { estimateTokenCount } from 'tokenx'

/** Shown beside every estimate; the provider's count replaces it once known. */
export const tokenizerName = 'tokenx estimate'

/** Estimates the number of tokens of a text; there is no other estimate. */
export function estimateTokens(text: string): number {
  return estimateTokenCount(text)
}
