/** A message that was changed after it was sent is a new one that says so. */
export function correctionOf(text: string): string {
  return `[This is how an earlier message of mine shall read:]\n${text}`
}
