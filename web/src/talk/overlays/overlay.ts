import type { ReactNode } from 'react'
import type { ToolPart } from '../conversation.ts'

export interface OverlayProps {
  tool: ToolPart
  sessionId: string | null
}

/** How the calls of a tool are shown in place of what went in and came out. */
export interface Overlay {
  /** Null where what came out is not what it knows, or nothing came yet: then the call is shown as it is. */
  show(props: OverlayProps): ReactNode
  /** It takes a while, and is worth looking at meanwhile. */
  opensWhileRunning?: true
}
