/** A word that occurs in one message and its answer. */
export function tokenOf(chatId: number, ordinal: number): string {
  return `tok-${chatId}-${ordinal}`
}

export function tokensIn(text: string): string[] {
  return [...text.matchAll(/tok-\d+-\d+/g)].map(([token]) => token)
}
