import { useEffect } from 'react'
import { go } from '../shell/router.ts'
import { usesLetterKeys } from './letter-keys.ts'
import { showOverPage } from './palette-state.ts'
import { isPalettePress, type LetterAction, letterAction } from './shortcuts.ts'

const sequenceMs = 1_500

/** The shortcuts of the whole page. Letters are the field's where something is typed, and a dialog's or menu's where one is open. */
export function useShortcuts(): void {
  useEffect(() => {
    let before: { key: string; at: number } | undefined

    function onKeyDown(event: KeyboardEvent): void {
      if (event.defaultPrevented || event.isComposing) return
      if (isPalettePress(event)) {
        event.preventDefault()
        showOverPage('palette')
        return
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isElsewhere(event.target) || !usesLetterKeys()) return
      const isSequence = before !== undefined && event.timeStamp - before.at < sequenceMs
      const action = letterAction(event.key, isSequence ? before?.key : undefined)
      before = action?.kind === 'wait' ? { key: event.key, at: event.timeStamp } : undefined
      if (!action || action.kind === 'wait') return
      event.preventDefault()
      perform(action)
    }
    window.addEventListener('keydown', onKeyDown)
    return () => window.removeEventListener('keydown', onKeyDown)
  }, [])
}

function perform(action: Exclude<LetterAction, { kind: 'wait' }>): void {
  if (action.kind === 'keys') showOverPage('keys')
  else if (action.kind === 'new') go('/')
  else if (action.kind === 'go') go(action.path)
  else document.querySelector<HTMLElement>(typingPlaces)?.focus()
}

const typingPlaces = 'main textarea[aria-label="Message"], main input[type="search"]'
const owners = 'input, textarea, select, [contenteditable], [role="dialog"], [role="menu"], [role="listbox"], iframe'

function isElsewhere(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(owners) !== null
}
