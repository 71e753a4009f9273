/** A word that stands in one message and in what answers it. */
export function tokenOf(chatId: number, ordinal: number): string {
  return `tok-${chatId}-${ordinal}`
}

export function tokensIn(text: string): string[] {
  return [...text.matchAll(/tok-\d+-\d+/g)].map(([token]) => token)
}
