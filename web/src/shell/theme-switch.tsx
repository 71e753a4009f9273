import { IconButton } from '../components/button.tsx'
import { Icon } from '../components/icon.tsx'
import { chooseTheme, type Theme, useTheme } from './theme.ts'

const next: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' }
const names: Record<Theme, string> = { system: 'as the system has it', light: 'light', dark: 'dark' }

export function ThemeSwitch() {
  const theme = useTheme()
  return (
    <IconButton label={`Colours: ${names[theme]}. Change.`} onClick={() => chooseTheme(next[theme])}>
      <Icon name={theme === 'dark' ? 'moon' : theme === 'light' ? 'sun' : 'gauge'} />
    </IconButton>
  )
}
