import type { Label } from '../protocol/label.ts'
import type { MediaPart } from '../protocol/message.ts'

/** A message with the files and blocks that it names in their place (ASSET-6). */
export interface MessageExpansion {
  text: string
  /** What was not found or is not all there. */
  notes: readonly string[]
  /** Images that it names. */
  media: readonly MediaPart[]
  /** Whose words stand in it beside the user's own. */
  included: readonly { trust: Label }[]
}

/** Must not throw for what a message names. Only what the user wrote themself is given to it. */
export type ExpandMessage = (message: {
  userId: string
  text: string
  signal: AbortSignal
}) => Promise<MessageExpansion>
