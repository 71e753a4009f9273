/** A turn that is under way, or has been: where it is watched from. */
export interface BegunTurn {
  userId: string
  sessionId: string
  messageId: string
  cursor: string
  /** Set where it has begun before: what is watched is the rest of it. */
  turnId?: string
}
