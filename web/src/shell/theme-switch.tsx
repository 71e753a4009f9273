import { Icon } from '../components/icon.tsx'
import { chooseTheme, type Theme, useTheme } from './theme.ts'

const next: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }
const names: Record<Theme, string> = { system: 'as the system', light: 'light', dark: 'dark' }

export function ThemeSwitch() {
  const theme = useTheme()
  return (
    <button
      type="button"
      aria-label={`Colours: ${names[theme]}. Change.`}
      onClick={() => chooseTheme(next[theme])}
      className="flex min-h-9 items-center gap-2.5 rounded-lg px-2 text-start text-sm text-soft hover:bg-ground hover:text-ink max-md:min-h-10"
    >
      <Icon name={theme === 'dark' ? 'moon' : 'sun'} size={16} />
      Colours: {names[theme]}
    </button>
  )
}
