import { useState } from 'react'
import { IconButton } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { Link } from '../shell/link.tsx'
import { useWho } from '../shell/who.ts'
import { SwitchAndShared } from './switch-and-shared.tsx'
import { useIsSwitchedOn } from './switch-state.ts'

/** In the composer: whether this browser's memory takes part in the talk, and what of it. */
export function PrivateMemorySwitch() {
  const { name } = useWho()
  const isOn = useIsSwitchedOn(name)
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <IconButton
        label={`This browser’s memory: ${isOn ? 'on' : 'off'}`}
        aria-haspopup="dialog"
        // A phone has no room for what is off; its screen has the same switch.
        className={isOn ? 'text-accent!' : 'max-sm:hidden'}
        onClick={() => setIsOpen(true)}
      >
        <Icon name="lock" />
      </IconButton>
      <Dialog isOpen={isOpen} onClose={() => setIsOpen(false)} title="This browser’s memory">
        <SwitchAndShared />
        <Link
          href="/private-memory"
          className="mt-4 inline-block text-accent underline underline-offset-2"
          onClick={() => setIsOpen(false)}
        >
          See and change what is kept
        </Link>
      </Dialog>
    </>
  )
}
