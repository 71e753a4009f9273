import { Screen } from '../components/screen.tsx'
import { type Tab, Tabs } from '../components/tabs.tsx'
import { go, usePlace } from '../shell/router.ts'
import { useWho } from '../shell/who.ts'
import { VoiceSettingsForm } from '../voice/voice-settings-form.tsx'
import { BrowsersTab } from './browsers-tab.tsx'
import { ConfigurationTab } from './configuration-tab.tsx'
import { OutboxTab } from './outbox-tab.tsx'
import { PreferencesTab } from './preferences-tab.tsx'

export function SettingsScreen() {
  const { path } = usePlace()
  const { is_owner } = useWho()
  const tabs: Tab[] = [
    { name: 'page', label: 'This page', content: <PreferencesTab /> },
    {
      name: 'voice',
      label: 'Voice',
      content: (
        <div className="max-w-md">
          <VoiceSettingsForm />
        </div>
      ),
    },
    { name: 'browsers', label: 'Signed in', content: <BrowsersTab /> },
    { name: 'sent', label: 'Sent out', content: <OutboxTab /> },
    ...(is_owner ? [{ name: 'configuration', label: 'Configuration', content: <ConfigurationTab /> }] : []),
  ]
  const chosen = path.split('/')[2]
  const value = tabs.find(({ name }) => name === chosen)?.name ?? 'page'
  return (
    <Screen title="Settings">
      <Tabs
        label="Settings"
        tabs={tabs}
        value={value}
        onChange={(name) => go(name === 'page' ? '/settings' : `/settings/${name}`)}
      />
    </Screen>
  )
}
