import { lazy, Suspense } from 'react'
import { Button } from '../components/controls.tsx'
import { Dialog } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { useWho } from '../shell/account.tsx'
import { screens } from '../shell/screens.tsx'
import { t } from '../strings/strings.ts'
import {
  helpKeys,
  paletteKeys,
  screenLetters,
  shownFile,
  showOverPage,
  useShortcuts,
  useShownOverPage,
  useUsesLetterKeys,
} from './shortcuts.ts'

interface Group {
  title: string
  keys: [keys: readonly string[], what: string][]
}

const letters: Group['keys'] = [
  [['n'], t.palette.newConversation],
  [['/'], t.palette.focusMessageSearch],
]

/** Every shortcut that there is, for those who may use it. */
export function KeyList() {
  const { is_owner } = useWho()
  const usesLetters = useUsesLetterKeys()
  const shown = screens.filter((screen) => is_owner || !screen.isOwners)
  const places = [{ path: '/', label: t.palette.chat }, ...shown].flatMap(({ path, label }) => {
    const letter = screenLetters[path]
    return letter ? [[['g', letter], label] as [string[], string]] : []
  })
  const groups: Group[] = [
    {
      title: t.palette.everywhere,
      keys: [
        [paletteKeys, t.palette.quickSearch],
        [helpKeys, t.palette.keyboardShortcuts],
        ...(usesLetters ? letters : []),
        [['Tab'], t.palette.nextElement],
      ],
    },
    {
      title: t.palette.messageField,
      keys: [
        [['Enter'], t.common.send],
        [['Shift', 'Enter'], t.palette.newLine],
        [['↑'], t.palette.editLast],
        [['Esc'], t.palette.stopReply],
        [['/'], t.palette.startCommands],
        [['@'], t.palette.mentionAFile],
        [['@', '@'], t.palette.mentionANote],
        [['Alt', 'V'], t.palette.holdToTalk],
        [['Alt', 'Shift', 'V'], t.palette.handsFreeVoice],
      ],
    },
    ...(usesLetters ? [{ title: t.palette.goTo, keys: places }] : []),
  ]
  return (
    <div className="grid gap-x-8 gap-y-5 sm:grid-cols-2">
      {groups.map(({ title, keys }) => (
        <div key={title} className={title === t.palette.goTo ? 'sm:col-span-2' : undefined}>
          <h3 className="mb-1 text-sm font-medium text-soft">{title}</h3>
          <dl className={title === t.palette.goTo ? 'text-sm sm:columns-2 sm:gap-x-8' : 'text-sm'}>
            {keys.map(([pressed, what]) => (
              <div key={what} className="flex break-inside-avoid items-center gap-3 py-1">
                <dt dir="ltr" className="flex w-28 shrink-0 flex-wrap gap-1 rtl:justify-end">
                  {pressed.map((key, index) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: the same key may be pressed twice.
                    <Key key={index} name={key} />
                  ))}
                </dt>
                <dd className="min-w-0">{what}</dd>
              </div>
            ))}
          </dl>
        </div>
      ))}
    </div>
  )
}

function Key({ name }: { name: string }) {
  return (
    <kbd className="inline-flex min-w-6 items-center justify-center rounded border border-line bg-sunken px-1.5 font-sans text-xs text-soft">
      {name}
    </kbd>
  )
}

/** In place of a part of the page that can no longer be fetched: a newer Familiar has replaced it. */
export function OutOfDate({ onClose }: { onClose(): void }) {
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t.palette.reloadNeeded}
      description={t.palette.familiarUpdatedCannotReached}
    >
      <Button kind="main" onClick={() => location.reload()}>
        {t.palette.reloadPage}
      </Button>
    </Dialog>
  )
}

const Palette = lazy(() =>
  import('./palette.tsx').then(
    ({ Palette }) => ({ default: Palette }),
    () => ({ default: OutOfDate }),
  ),
)

const FoundFile = lazy(() =>
  import('./found-file.tsx').then(
    ({ FoundFile }) => ({ default: FoundFile }),
    () => ({ default: OutOfDate }),
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
      {shown === 'palette' && (
        <Suspense fallback={null}>
          <Palette onClose={close} />
        </Suspense>
      )}
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
        <KeyList />
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
