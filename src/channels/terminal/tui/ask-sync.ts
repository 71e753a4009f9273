import type { ApprovalReply } from '../../../protocol/approval-api.ts'
import type { Ask, Change } from './conversation.ts'
import { withCodes } from './displayable.ts'
import type { TuiPartner } from './tui-partner.ts'

/** Keeps what is asked on the screen the same as what waits: another way in may have answered. */
export function createAskSync(options: {
  partner: Pick<TuiPartner, 'approvals'>
  dispatch(change: Change): void
  asks(): readonly Ask[]
}): { refresh(): Promise<void>; forget(id: string): void } {
  const { partner, dispatch, asks } = options
  /** What the user has put off stays away. */
  const forgotten = new Set<string>()
  let refreshing: Promise<void> | undefined

  async function refresh(): Promise<void> {
    const waiting = await partner.approvals()
    for (const ask of asks()) {
      if (ask.kind === 'approval' && !waiting.some(({ id }) => id === ask.id)) dispatch({ type: 'settled', id: ask.id })
    }
    for (const approval of waiting) {
      if (!forgotten.has(approval.id)) dispatch({ type: 'asked', ask: toAsk(approval) })
    }
  }

  return {
    /** One after the other: an older answer must not bring back what a newer one took away. */
    refresh() {
      const next = (refreshing ?? Promise.resolve()).catch(() => undefined).then(refresh)
      refreshing = next
      return next
    },
    forget: (id) => void forgotten.add(id),
  }
}

function toAsk({ id, tool, destination, arguments: given, reason }: ApprovalReply): Ask {
  return {
    kind: 'approval',
    id,
    tool: withCodes(tool),
    destination: destination === null ? null : withCodes(destination),
    arguments: withCodes(JSON.stringify(given)),
    reason,
  }
}
