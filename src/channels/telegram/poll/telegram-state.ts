/** What the channel is doing, for people. */
export interface TelegramState {
  /**
   * `conflict`: another program fetches the updates of the same bot. `refused`: Telegram does not take the token, and
   * nothing more is tried.
   */
  state: 'off' | 'starting' | 'listening' | 'waiting' | 'conflict' | 'refused'
  bot: { id: number; username: string } | null
  /** What went wrong last; null while all is well. */
  problem: string | null
  lastUpdateAt: number | null
}
