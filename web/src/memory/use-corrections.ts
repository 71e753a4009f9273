import { useCallback } from 'react'
import type { FactRequest, WrittenFactReply } from '../../../src/protocol/fact-api.ts'
import type { EditedMemoryReply, ForgottenMemoryReply } from '../../../src/protocol/memory-api.ts'
import { ask } from '../api/ask.ts'
import { useToasts } from '../components/toast.tsx'

/**
 * Changing what is known, each with a way back in the toast. They tell whether it was done; `onUndone` is called when it was
 * taken back.
 */
export function useCorrections() {
  const toasts = useToasts()

  const undo = useCallback(
    async (changeId: string): Promise<boolean> => {
      try {
        await ask('/memories/undo', { body: { change: changeId } })
        toasts.done('As it was before.')
        return true
      } catch (error) {
        toasts.failed(error)
        return false
      }
    },
    [toasts],
  )

  const tell = useCallback(
    (text: string, changeId: string | null, onUndone: () => void) => {
      const run = async (id: string) => {
        if (await undo(id)) onUndone()
      }
      toasts.done(text, changeId === null ? undefined : { label: 'Undo', run: () => void run(changeId) })
    },
    [toasts, undo],
  )

  const told = useCallback(
    async (text: string, change: () => Promise<{ change_id: string }>, onUndone: () => void): Promise<boolean> => {
      try {
        const { change_id } = await change()
        tell(text, change_id, onUndone)
        return true
      } catch (error) {
        toasts.failed(error)
        return false
      }
    },
    [toasts, tell],
  )

  /** Undefined where it was refused, which the user is told. */
  const stateFact = useCallback(
    async (fact: FactRequest, onUndone: () => void): Promise<WrittenFactReply | undefined> => {
      try {
        const written = await ask<WrittenFactReply>('/memories/facts', { body: fact })
        tell(factWords(written), written.change_id, onUndone)
        return written
      } catch (error) {
        toasts.failed(error)
        return undefined
      }
    },
    [toasts, tell],
  )

  const forget = useCallback(
    (id: string, onUndone: () => void) =>
      told(
        'Forgotten. It can come back for 30 days.',
        () => ask<ForgottenMemoryReply>(pathOf(id), { method: 'DELETE' }),
        onUndone,
      ),
    [told],
  )
  const keep = useCallback(
    (id: string, onUndone: () => void) =>
      told('Kept, as if you had said it.', () => ask<EditedMemoryReply>(`${pathOf(id)}/keep`, { body: {} }), onUndone),
    [told],
  )
  const edit = useCallback(
    (id: string, body: object, onUndone: () => void) =>
      told('Changed.', () => ask<EditedMemoryReply>(pathOf(id), { method: 'PATCH', body }), onUndone),
    [told],
  )
  return { forget, keep, edit, stateFact, undo }
}

function factWords({ outcome, old }: WrittenFactReply): string {
  if (outcome === 'confirmed') return 'Confirmed: it was known so.'
  return old ? `Noted. Before, it was ${old.value}.` : 'Noted.'
}

function pathOf(id: string): string {
  return `/memories/${encodeURIComponent(id)}`
}
