import type { PinReply } from '../../../src/protocol/asset-api.ts'
import { ask } from '../api/ask.ts'
import { useToasts } from '../components/toast.tsx'
import { go } from '../shell/router.ts'
import { apiPath, placeOf } from './block-label.ts'

/** What is done to a block as a whole, each with its way back. */
export function useBlockActions(
  label: string,
  { pin, onPinned }: { pin: PinReply | undefined; onPinned(): void },
): { remove(etag: string): Promise<void>; togglePin(): Promise<void> } {
  const toasts = useToasts()

  async function bringBack(): Promise<void> {
    try {
      await ask(`${apiPath(label)}/undo`, { body: {} })
      if (pin) await ask('/pins', { body: { label, position: pin.position } })
      go(placeOf(label))
    } catch (error) {
      toasts.failed(error)
    }
  }

  return {
    async remove(etag) {
      try {
        await ask(apiPath(label), { method: 'DELETE', query: { etag } })
        // What is gone needs no place in the prompt.
        if (pin) await ask('/pins', { method: 'DELETE', query: { label } })
        toasts.done(`${label} is deleted. Its versions stay.`, { label: 'Undo', run: () => void bringBack() })
        go('/blocks')
      } catch (error) {
        toasts.failed(error)
      }
    },
    async togglePin() {
      try {
        if (pin) await ask('/pins', { method: 'DELETE', query: { label } })
        else await ask('/pins', { body: { label } })
        onPinned()
      } catch (error) {
        toasts.failed(error)
      }
    },
  }
}
