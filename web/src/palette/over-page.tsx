import { lazy, Suspense } from 'react'
import { Dialog } from '../components/dialog.tsx'
import { KeyList } from './key-list.tsx'
import { OutOfDate } from './out-of-date.tsx'
import { showOverPage, useShownOverPage } from './palette-state.ts'
import { useShortcuts } from './use-shortcuts.ts'

const Palette = lazy(() =>
  import('./palette.tsx').then(
    ({ Palette }) => ({ default: Palette }),
    () => ({ default: OutOfDate }),
  ),
)

/** What the shortcuts of the page open above it. */
export function OverPage() {
  useShortcuts()
  const shown = useShownOverPage()
  const close = () => showOverPage(null)
  return (
    <>
      {shown === 'palette' && (
        <Suspense fallback={null}>
          <Palette onClose={close} />
        </Suspense>
      )}
      <Dialog
        isOpen={shown === 'keys'}
        onClose={close}
        title="Keyboard"
        description="Letters work where nothing is being typed. The settings switch them off."
      >
        <KeyList />
      </Dialog>
    </>
  )
}
