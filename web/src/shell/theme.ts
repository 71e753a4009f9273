import { useSyncExternalStore } from 'react'

export type Theme = 'light' | 'dark' | 'system'

const key = 'familiar.theme'
const listeners = new Set<() => void>()
const dark = matchMedia('(prefers-color-scheme: dark)')

function chosen(): Theme {
  const stored = localStorage.getItem(key)
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

/** Before anything is drawn, and whenever the system or the user changes it. */
export function applyTheme(): void {
  const theme = chosen()
  document.documentElement.dataset.theme = theme === 'system' ? (dark.matches ? 'dark' : 'light') : theme
  for (const listener of listeners) listener()
}
dark.addEventListener('change', applyTheme)

export function chooseTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(key)
  else localStorage.setItem(key, theme)
  applyTheme()
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, chosen)
}
