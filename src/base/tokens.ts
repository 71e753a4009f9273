import { estimateTokenCount } from 'tokenx'

/** Named wherever an estimate is shown; what the provider counted replaces it as soon as it is known. */
export const tokenizerName = 'tokenx estimate'

/** The one estimate of how many tokens a text costs. */
export function estimateTokens(text: string): number {
  return estimateTokenCount(text)
}
