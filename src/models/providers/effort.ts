/** A budget of thinking tokens in the words of providers that take an effort instead. */
export function toEffort(thinkingTokens: number): 'low' | 'medium' | 'high' {
  if (thinkingTokens < 4_096) return 'low'
  return thinkingTokens < 16_384 ? 'medium' : 'high'
}
