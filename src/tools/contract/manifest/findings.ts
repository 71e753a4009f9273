/** What is found while a manifest is read: problems refuse it, notes do not. */
export interface Findings {
  problem(path: string, expected: string, found: unknown): void
  note(text: string): void
}
