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

type Press = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>

/** On a Mac, Ctrl-K deletes to the end of a line. */
export function isPalettePress(press: Press, apple = isApple): boolean {
  const [wanted, other] = apple ? [press.metaKey, press.ctrlKey] : [press.ctrlKey, press.metaKey]
  return press.key.toLowerCase() === 'k' && wanted && !other && !press.altKey && !press.shiftKey
}

export type LetterAction =
  | { kind: 'keys' }
  | { kind: 'type' }
  | { kind: 'new' }
  | { kind: 'go'; path: string }
  /** The next letter says where. */
  | { kind: 'wait' }

/** What a letter means, after the one before it. */
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
