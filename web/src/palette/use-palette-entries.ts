import { useMemo } from 'react'
import type { CapabilitiesReply } from '../../../src/protocol/capability-api.ts'
import type { CommandsReply } from '../../../src/protocol/command-api.ts'
import type { FinderReply } from '../../../src/protocol/finder-api.ts'
import { useAnswer } from '../api/use-answer.ts'
import { useToasts } from '../components/toast.tsx'
import { go } from '../shell/router.ts'
import { screens } from '../shell/screens.tsx'
import { signOut } from '../shell/sign-out.ts'
import { chooseTheme } from '../shell/theme.ts'
import { useWho } from '../shell/who.ts'
import { useSessions } from '../talk/sessions-store.ts'
import type { PaletteEntry } from './palette-entry.ts'
import { showOverPage } from './palette-state.ts'

const actions: readonly Omit<PaletteEntry, 'id' | 'group'>[] = [
  { label: 'New conversation', icon: 'plus', run: () => go('/') },
  { label: 'New schedule', icon: 'calendar', words: 'remind', run: () => go('/schedules/new') },
  { label: 'Keyboard shortcuts', icon: 'bolt', words: 'help keys', run: () => showOverPage('keys') },
  { label: 'Light colours', icon: 'sun', words: 'theme', run: () => chooseTheme('light') },
  { label: 'Dark colours', icon: 'moon', words: 'theme', run: () => chooseTheme('dark') },
  { label: 'Colours as the system has them', icon: 'gauge', words: 'theme', run: () => chooseTheme('system') },
]

/** Everything that can be gone to or done. A command is handed to `onCommand` as it would be typed. */
export function usePaletteEntries(onCommand: (line: string, takesMore: boolean) => void): PaletteEntry[] {
  const toasts = useToasts()
  const { is_owner } = useWho()
  const sessions = useSessions()
  const commands = useAnswer<CommandsReply>('/commands').data?.commands
  const blocks = useAnswer<FinderReply>('/finder', { query: { kind: 'block', limit: 100 } }).data?.found
  const capabilities = useAnswer<CapabilitiesReply>('/capabilities').data?.capabilities

  return useMemo(() => {
    const to = (path: string) => () => go(path)
    const groups: Record<string, Omit<PaletteEntry, 'id' | 'group'>[]> = {
      Actions: [
        ...actions,
        { label: 'Sign out', icon: 'lock', words: 'leave log out', run: () => void signOut().catch(toasts.failed) },
      ],
      Conversations: sessions.map(({ id, title, contact, preview, state }) => ({
        label: title ?? contact,
        detail: [state === 'archived' && 'archived', preview].filter(Boolean).join(' · '),
        icon: 'talk',
        run: to(`/talk/${id}`),
      })),
      Screens: [
        { label: 'Talk', icon: 'talk', run: to('/') },
        ...screens
          .filter((screen) => is_owner || !screen.isOwners)
          .map(({ path, label, icon }) => ({ label, icon, run: to(path) })),
      ],
      Commands: (commands ?? []).map(({ name, usage, summary }) => ({
        label: `/${name}`,
        detail: summary,
        icon: 'send',
        run: () => onCommand(`/${name}`, usage.trim().includes(' ')),
      })),
      Blocks: (blocks ?? []).map(({ name }) => ({
        label: name,
        icon: 'block',
        run: to(`/blocks/${encodeURIComponent(name)}`),
      })),
      Capabilities: (capabilities ?? []).map(({ name, description }) => ({
        label: name,
        detail: description,
        icon: 'tool',
        run: to(`/capabilities/${encodeURIComponent(name)}`),
      })),
    }
    return Object.entries(groups).flatMap(([group, entries]) =>
      entries.map((entry, index) => ({ ...entry, group, id: `${group}-${index}` })),
    )
  }, [toasts, is_owner, sessions, commands, blocks, capabilities, onCommand])
}
