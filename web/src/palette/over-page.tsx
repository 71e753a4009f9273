import { lazy, Suspense } from 'react'
import { Dialog } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { later, OutOfDate } from '../components/later.tsx'
import { t } from '../strings/strings.ts'
import { paletteKeys, shownFile, showOverPage, useShortcuts, useShownOverPage, useUsesLetterKeys } from './shortcuts.ts'

export function Key({ name }: { name: string }) {
  return (
    <kbd className="inline-flex min-w-6 items-center justify-center rounded border border-line bg-sunken px-1.5 font-sans text-xs text-soft">
      {name}
    </kbd>
  )
}

const Palette = later(async () => (await import('./palette.tsx')).Palette, OutOfDate)

const FoundFile = lazy(() =>
  import('./found-file.tsx').then(
    ({ FoundFile }) => ({ default: FoundFile }),
    () => ({ default: OutOfDate }),
  ),
)

const KeyList = lazy(() =>
  import('./key-list.tsx').then(
    ({ KeyList }) => ({ default: KeyList }),
    // Without the list the page works as well.
    () => ({ default: () => <p>{t.palette.reloadNeeded}</p> }),
  ),
)

/** The dialogs that shortcuts open. */
export function OverPage() {
  useShortcuts()
  const shown = useShownOverPage()
  const usesLetters = useUsesLetterKeys()
  const file = shownFile()
  const close = () => showOverPage(null)
  return (
    <>
      {shown === 'palette' && <Palette onClose={close} />}
      {shown === 'file' && file && (
        <Suspense fallback={null}>
          <FoundFile file={file} onClose={close} />
        </Suspense>
      )}
      <Dialog
        isOpen={shown === 'keys'}
        onClose={close}
        title={t.palette.keyboardShortcuts}
        description={usesLetters ? t.palette.singleLetterShortcutsWork : t.palette.turnSingleLetterShortcuts}
      >
        <Suspense fallback={<p className="breathing text-sm text-soft">{t.common.loading}</p>}>
          <KeyList />
        </Suspense>
      </Dialog>
    </>
  )
}

export function PaletteButton() {
  return (
    <button
      type="button"
      onClick={() => showOverPage('palette')}
      className="flex min-h-9 w-full items-center gap-2 rounded-lg px-2.5 text-start text-sm text-soft hover:bg-ground hover:text-ink"
    >
      <Icon name="search" size={16} />
      <span className="flex-1">{t.palette.quickSearch}</span>
      <span aria-hidden="true" dir="ltr" className="flex gap-1 max-md:hidden">
        {paletteKeys.map((key) => (
          <Key key={key} name={key} />
        ))}
      </span>
    </button>
  )
}
