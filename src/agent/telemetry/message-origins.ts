import type { Work, WorkContext } from '../../base/work-context.ts'
import type { Inbox } from '../../sessions/inbox.ts'

/** What brought a message, until its turn begins: that turn may be begun by the end of another one, which is not its origin. */
export interface MessageOrigins {
  /** The same inbox; what comes in through it is remembered. */
  watch(inbox: Inbox): Inbox
  /** What was being worked on when the message came, once; nothing where that was in another process or long ago. */
  take(messageIds: readonly string[]): Work
}

const mostRemembered = 10_000

export function createMessageOrigins(work: WorkContext): MessageOrigins {
  const origins = new Map<string, Work>()

  function remember(messageId: string): void {
    const { request, span } = work.current()
    if (request === undefined && span === undefined) return
    origins.set(messageId, { ...(request !== undefined && { request }), span })
    const [oldest] = origins.keys()
    if (origins.size > mostRemembered && oldest !== undefined) origins.delete(oldest)
  }

  return {
    watch: (inbox) => ({
      ...inbox,
      async admit(...message) {
        const admission = await inbox.admit(...message)
        if (admission.admitted) remember(admission.message.id)
        return admission
      },
      async admitIn(...message) {
        const admission = await inbox.admitIn(...message)
        if (admission.admitted) remember(admission.message.id)
        return admission
      },
      draft(...message) {
        const draft = inbox.draft(...message)
        remember(draft.id)
        return draft
      },
    }),
    take(messageIds) {
      const found = messageIds.map((id) => origins.get(id))
      for (const id of messageIds) origins.delete(id)
      return found.find((origin) => origin !== undefined) ?? {}
    },
  }
}
