import { CommandLine } from '../components/command-line.tsx'
import { SelectField } from '../components/field.tsx'
import { Section } from '../components/screen.tsx'
import { KeyList } from '../palette/key-list.tsx'
import { setUsesLetterKeys, useUsesLetterKeys } from '../palette/letter-keys.ts'
import { chooseTheme, type Theme, useTheme } from '../shell/theme.ts'
import { useWho } from '../shell/who.ts'

/** What this browser remembers of how its user likes the page. */
export function PreferencesTab() {
  const theme = useTheme()
  const usesLetters = useUsesLetterKeys()
  const { name, is_owner, version } = useWho()
  return (
    <>
      <Section title="Appearance">
        <SelectField
          className="max-w-xs"
          label="Colours"
          choices={[
            { value: 'system', label: 'As the system has them' },
            { value: 'light', label: 'Light' },
            { value: 'dark', label: 'Dark' },
          ]}
          value={theme}
          onChange={(value) => chooseTheme(value as Theme)}
        />
      </Section>
      <Section title="Keyboard">
        <label className="mb-3 flex min-h-9 items-center gap-2">
          <input type="checkbox" checked={usesLetters} onChange={(event) => setUsesLetterKeys(event.target.checked)} />
          Single letters are shortcuts where nothing is being typed
        </label>
        <KeyList />
      </Section>
      <Section title="About">
        <p className="text-soft">
          You are {name || 'signed in'}
          {is_owner && ', the owner of this home'}. Familiar {version}.
        </p>
        {is_owner && (
          <div className="mt-3 max-w-md">
            <p className="mb-1 text-sm text-soft">Another browser or phone is signed in by a link of one use:</p>
            <CommandLine command="familiar sign-in" />
          </div>
        )}
      </Section>
    </>
  )
}
