import { useEffect } from 'react'
import type { HoldPress } from './hold-press.ts'
import type { VoiceSession } from './voice-session.ts'

/** Alt+V held speaks, Alt+Shift+V is hands-free, Escape is the way out. */
export function useVoiceKeys({ session, hold }: { session: VoiceSession; hold: HoldPress }): void {
  useEffect(() => {
    let isHeld = false

    function onKeyDown(event: KeyboardEvent): void {
      const { kind } = session.state()
      if (event.key === 'Escape' && kind !== 'off' && !isInDialog(event.target)) {
        // The turn goes on: only the voice ends.
        event.stopPropagation()
        session.tell({ type: 'end' })
        return
      }
      if (event.code !== 'KeyV' || !event.altKey || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      if (event.repeat || isHeld) return
      if (event.shiftKey) session.tell(kind === 'off' ? { type: 'begin', mode: 'hands_free' } : { type: 'end' })
      else {
        isHeld = true
        hold.press()
      }
    }

    function onKeyUp(event: KeyboardEvent): void {
      if (isHeld && (event.code === 'KeyV' || event.key === 'Alt')) letGo()
    }

    function letGo(): void {
      if (!isHeld) return
      isHeld = false
      hold.letGo()
    }

    window.addEventListener('keydown', onKeyDown, { capture: true })
    window.addEventListener('keyup', onKeyUp, { capture: true })
    window.addEventListener('blur', letGo)
    return () => {
      window.removeEventListener('keydown', onKeyDown, { capture: true })
      window.removeEventListener('keyup', onKeyUp, { capture: true })
      window.removeEventListener('blur', letGo)
    }
  }, [session, hold])
}

function isInDialog(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('[role="dialog"], [role="menu"]') !== null
}
