import type { Change } from './conversation.ts'
import type { TuiPartner } from './tui-partner.ts'

/** Looks which builds run, and tells of each one to its end. What is followed already is left alone. */
export function followBuilds(options: {
  partner: Pick<TuiPartner, 'builds'>
  dispatch(change: Change): void
  signal: AbortSignal
}): () => void {
  const { partner, dispatch, signal } = options
  /** How far each build was told, so that a broken line repeats nothing. */
  const told = new Map<string, number>()
  const followed = new Set<string>()

  async function follow(id: string, name: string): Promise<void> {
    followed.add(id)
    try {
      for await (const event of partner.builds.follow(id, signal)) {
        if (event.seq <= (told.get(id) ?? 0)) continue
        told.set(id, event.seq)
        dispatch({ type: 'build', name, event })
        if (event.type === 'question' || event.type === 'secret_request') await settleIfOver(event.question_id)
      }
    } finally {
      followed.delete(id)
    }
  }

  /** Of a build that is told from its beginning, most was answered before this terminal came. */
  async function settleIfOver(questionId: string): Promise<void> {
    const waiting = await partner.builds.questions()
    if (!waiting.some(({ id }) => id === questionId)) dispatch({ type: 'settled', id: questionId })
  }

  async function look(): Promise<void> {
    for (const { id, name } of await partner.builds.running()) {
      // Where the line breaks, the next look takes it up again.
      if (!followed.has(id)) void follow(id, name).catch(() => undefined)
    }
  }
  return () => void look().catch(() => undefined)
}
