/** The Builder works there: one session for each build, named by its id. */
export const builderChannel = 'builder'

/** Sub-agents work there: one session for each spawn, named by its id. */
export const subagentChannel = 'subagent'

/**
 * Sessions in which nobody speaks: work that a conversation has begun. They are not listed among the conversations, do
 * not take a place from them, and are cut off at once when the daemon stops, since they go on at the next start.
 */
export const workChannels: readonly string[] = [builderChannel, subagentChannel]

export function isWorkChannel(channel: string): boolean {
  return workChannels.includes(channel)
}
