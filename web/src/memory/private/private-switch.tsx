import { useState, useSyncExternalStore } from 'react'
import { IconButton } from '../../components/controls.tsx'
import { Dialog } from '../../components/forms.tsx'
import { Icon } from '../../components/icon.tsx'
import { later, OutOfDate } from '../../components/later.tsx'
import { useWho } from '../../shell/account.tsx'
import { Link } from '../../shell/router.tsx'
import { t } from '../../strings/strings.ts'

const listeners = new Set<() => void>()
const keyOf = (userName: string) => `familiar.private-memory.on.${userName}`

/**
 * The one consent for this browser's memory, given once and until it is taken back. Off until the user says otherwise, here.
 * `saving` is a consent of earlier versions: Familiar may save notes, and each needs to be shared before it can read it.
 */
export type Consent = 'off' | 'saving' | 'reading'

const stored: Readonly<Record<Exclude<Consent, 'off'>, string>> = { saving: 'yes', reading: 'reading' }

export function consentOf(userName: string): Consent {
  const value = localStorage.getItem(keyOf(userName))
  if (value === stored.reading) return 'reading'
  return value === stored.saving ? 'saving' : 'off'
}

/** Whether Familiar may use this browser's memory. */
export function isSwitchedOn(userName: string): boolean {
  return consentOf(userName) !== 'off'
}

export function switchTo(userName: string, isOn: boolean): void {
  if (isOn) localStorage.setItem(keyOf(userName), stored.reading)
  else localStorage.removeItem(keyOf(userName))
  for (const listener of listeners) listener()
}

export function useConsent(userName: string): Consent {
  return useSyncExternalStore(subscribe, () => consentOf(userName))
}

export function useIsSwitchedOn(userName: string): boolean {
  return useConsent(userName) !== 'off'
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  // Another tab's word counts here as well.
  window.addEventListener('storage', listener)
  return () => {
    listeners.delete(listener)
    window.removeEventListener('storage', listener)
  }
}

const SwitchAndShared = later<{ onClose(): void }>(
  async () => (await import('./private-screen.tsx')).SwitchAndShared,
  OutOfDate,
)

/** In the composer: the switch for this browser's memory, with its shared entries. */
export function PrivateMemorySwitch() {
  const { name } = useWho()
  const isOn = useIsSwitchedOn(name)
  const [isOpen, setIsOpen] = useState(false)
  const close = () => setIsOpen(false)
  return (
    <>
      <IconButton
        label={isOn ? t.privateNotes.switchOn : t.privateNotes.switchOff}
        aria-haspopup="dialog"
        // A phone has no room for it while it is off; the screen of private notes has the same switch.
        className={isOn ? 'text-accent!' : 'max-sm:hidden'}
        onClick={() => setIsOpen(true)}
      >
        <Icon name="lock" />
      </IconButton>
      <Dialog isOpen={isOpen} onClose={close} title={t.privateNotes.privateNotes}>
        <SwitchAndShared onClose={close} />
        <Link
          href="/private-memory"
          className="mt-4 inline-block text-accent underline underline-offset-2"
          onClick={close}
        >
          {t.privateNotes.openPrivateNotes}
        </Link>
      </Dialog>
    </>
  )
}
