import { useCallback } from 'react'
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

  const told = useCallback(
    async (text: string, change: () => Promise<{ change_id: string }>, onUndone: () => void): Promise<boolean> => {
      try {
        const { change_id } = await change()
        const run = async () => {
          if (await undo(change_id)) onUndone()
        }
        toasts.done(text, { label: 'Undo', run: () => void run() })
        return true
      } catch (error) {
        toasts.failed(error)
        return false
      }
    },
    [toasts, undo],
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
  return { forget, keep, edit, undo }
}

function pathOf(id: string): string {
  return `/memories/${encodeURIComponent(id)}`
}
