import { useSyncExternalStore } from 'react'
import { Icon } from '../components/icon.tsx'
import { t } from '../strings/strings.ts'

export type Theme = 'light' | 'dark' | 'system'

const key = 'familiar.theme'
const listeners = new Set<() => void>()
const darkSystem = () => matchMedia('(prefers-color-scheme: dark)')

function chosen(): Theme {
  const stored = localStorage.getItem(key)
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

/** Applies the theme before the first paint and follows the system's setting. */
export function startTheme(): void {
  applyTheme()
  darkSystem().addEventListener('change', applyTheme)
}

function applyTheme(): void {
  const theme = chosen()
  document.documentElement.dataset.theme = theme === 'system' ? (darkSystem().matches ? 'dark' : 'light') : theme
  // The bar of the installed app, and of the browser on a phone.
  const ground = getComputedStyle(document.documentElement).getPropertyValue('--ground').trim()
  if (ground !== '') document.querySelector('meta[name="theme-color"]')?.setAttribute('content', ground)
  for (const listener of listeners) listener()
}

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

const next: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }
const names: Record<Theme, string> = { system: t.shell.system, light: t.shell.light, dark: t.shell.dark }

export function ThemeSwitch() {
  const theme = useTheme()
  return (
    <button
      type="button"
      aria-label={t.shell.themeChange(names[theme])}
      onClick={() => chooseTheme(next[theme])}
      className="flex min-h-9 items-center gap-2.5 rounded-lg px-2 text-start text-sm text-soft hover:bg-ground hover:text-ink max-md:min-h-10"
    >
      <Icon name={theme === 'dark' ? 'moon' : 'sun'} size={16} />
      {t.shell.theme(names[theme])}
    </button>
  )
}
