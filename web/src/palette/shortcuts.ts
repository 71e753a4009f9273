import { useEffect, useSyncExternalStore } from 'react'
import type { FoundReply } from '../../../src/protocol/search.ts'
import { go } from '../shell/router.tsx'

const isApple = /Mac|iPhone|iPad/.test(globalThis.navigator?.platform ?? '')

/** The second letter after `g`, by the path of a screen. */
export const screenLetters: Readonly<Record<string, string>> = {
  '/': 't',
  '/memory': 'm',
  '/private-memory': 'p',
  '/blocks': 'b',
  '/toolbox': 'o',
  '/capabilities': 'a',
  '/cost': 'c',
  '/monitor': 'w',
  '/schedules': 's',
  '/skills': 'k',
  '/models': 'l',
  '/users': 'u',
  '/settings': 'e',
  '/doctor': 'd',
}

export const paletteKeys = isApple ? ['⌘', 'K'] : ['Ctrl', 'K']

export const helpKeys = isApple ? ['⌘', '/'] : ['Ctrl', '/']

type Press = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>

/** On a Mac, Ctrl-K deletes to the end of a line. */
export function isPalettePress(press: Press, apple = isApple): boolean {
  const [wanted, other] = apple ? [press.metaKey, press.ctrlKey] : [press.ctrlKey, press.metaKey]
  return press.key.toLowerCase() === 'k' && wanted && !other && !press.altKey && !press.shiftKey
}

type LetterAction =
  | { kind: 'keys' }
  | { kind: 'type' }
  | { kind: 'new' }
  | { kind: 'go'; path: string }
  /** The next letter says where. */
  | { kind: 'wait' }

/** The meaning of a key after the previous one. */
export function letterAction(key: string, before: string | undefined): LetterAction | undefined {
  if (before === 'g') {
    const path = Object.entries(screenLetters).find(([, letter]) => letter === key)?.[0]
    return path === undefined ? undefined : { kind: 'go', path }
  }
  switch (key) {
    case '?':
      return { kind: 'keys' }
    case '/':
      return { kind: 'type' }
    case 'n':
      return { kind: 'new' }
    case 'g':
      return { kind: 'wait' }
    default:
      return undefined
  }
}

const name = 'familiar.letter_keys'
const letterKeyListeners = new Set<() => void>()

/** Off unless the user turns them on: a letter typed with no field focused belongs to the message. */
export function usesLetterKeys(): boolean {
  return localStorage.getItem(name) === 'on'
}

export function setUsesLetterKeys(isOn: boolean): void {
  if (isOn) localStorage.setItem(name, 'on')
  else localStorage.removeItem(name)
  for (const listener of letterKeyListeners) listener()
}

export function useUsesLetterKeys(): boolean {
  return useSyncExternalStore((listener) => {
    letterKeyListeners.add(listener)
    return () => void letterKeyListeners.delete(listener)
  }, usesLetterKeys)
}

type Shown = 'palette' | 'keys' | 'file' | null

let shown: Shown = null
const paletteListeners = new Set<() => void>()

export function showOverPage(next: Shown): void {
  shown = next
  for (const listener of paletteListeners) listener()
}

let foundFile: FoundReply | undefined

/** Shows the text of a file that was found. */
export function showFoundFile(file: FoundReply): void {
  foundFile = file
  showOverPage('file')
}

export const shownFile = () => foundFile

/** Which of the dialogs is over the page. */
export function useShownOverPage(): Shown {
  return useSyncExternalStore(
    (listener) => {
      paletteListeners.add(listener)
      return () => void paletteListeners.delete(listener)
    },
    () => shown,
  )
}

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
      if (event.key === '/' && (isApple ? event.metaKey : event.ctrlKey) && !event.altKey) {
        event.preventDefault()
        showOverPage('keys')
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
