/** The Builder works there: one session for each build, named by its id. */
export const builderChannel = 'builder'

/**
 * Sessions in which nobody speaks: work that a conversation has begun. They are not listed among the conversations, do
 * not take a place from them, and are cut off at once when the daemon stops, since they go on at the next start.
 */
export const workChannels: readonly string[] = [builderChannel]

export function isWorkChannel(channel: string): boolean {
  return workChannels.includes(channel)
}
