import { type ComponentType, type LazyExoticComponent, lazy } from 'react'
import type { IconName } from '../components/icon.tsx'
import { t } from '../strings/strings.ts'

interface ScreenEntry {
  path: string
  label: string
  icon: IconName
  /** Loaded on first use. */
  Component: LazyExoticComponent<ComponentType>
  /** Shown to the owner only. */
  isOwners?: true
}

/** Every screen except the chat, in the order of the side list. */
export const screens: readonly ScreenEntry[] = [
  {
    path: '/memory',
    label: t.common.memory,
    icon: 'brain',
    Component: lazyScreen(async () => (await import('../memory/memory-screen.tsx')).MemoryScreen),
  },
  {
    path: '/blocks',
    label: t.shell.notes,
    icon: 'block',
    Component: lazyScreen(async () => (await import('../blocks/blocks-screen.tsx')).BlocksScreen),
  },
  {
    path: '/private-memory',
    label: t.shell.privateNotes,
    icon: 'lock',
    Component: lazyScreen(async () => (await import('../memory/private/private-screen.tsx')).PrivateMemoryScreen),
  },
  {
    path: '/skills',
    label: t.common.skills,
    icon: 'book',
    isOwners: true,
    Component: lazyScreen(async () => (await import('../skills/skills-screen.tsx')).SkillsScreen),
  },
  {
    path: '/toolbox',
    label: t.common.tools,
    icon: 'tool',
    Component: lazyScreen(async () => (await import('../tools/tools-screen.tsx')).ToolsScreen),
  },
  {
    path: '/capabilities',
    label: t.common.builtTools,
    icon: 'bolt',
    Component: lazyScreen(async () => (await import('../tools/built-tools-screen.tsx')).CapabilitiesScreen),
  },
  {
    path: '/schedules',
    label: t.shell.schedules,
    icon: 'calendar',
    Component: lazyScreen(async () => (await import('../schedules/schedules-screen.tsx')).SchedulesScreen),
  },
  {
    path: '/cost',
    label: t.common.cost,
    icon: 'coin',
    Component: lazyScreen(async () => (await import('../cost/cost-screen.tsx')).CostScreen),
  },
  {
    path: '/monitor',
    label: t.shell.activity,
    icon: 'pulse',
    Component: lazyScreen(async () => (await import('../monitor/monitor-screen.tsx')).MonitorScreen),
  },
  {
    path: '/models',
    label: t.shell.models,
    icon: 'chip',
    Component: lazyScreen(async () => (await import('../models/models-screen.tsx')).ModelsScreen),
  },
  {
    path: '/users',
    label: t.shell.users,
    icon: 'people',
    isOwners: true,
    Component: lazyScreen(async () => (await import('../users/users-screen.tsx')).UsersScreen),
  },
  {
    path: '/settings',
    label: t.common.settings,
    icon: 'gear',
    Component: lazyScreen(async () => (await import('../settings/settings-screen.tsx')).SettingsScreen),
  },
  {
    path: '/doctor',
    label: t.shell.healthCheck,
    icon: 'shield',
    isOwners: true,
    Component: lazyScreen(async () => (await import('../settings/doctor-screen.tsx')).DoctorScreen),
  },
]

export function screenAt(path: string): ScreenEntry | undefined {
  return screens.find((screen) => path === screen.path || path.startsWith(`${screen.path}/`))
}

function lazyScreen(load: () => Promise<ComponentType>): LazyExoticComponent<ComponentType> {
  return lazy(async () => ({ default: await load() }))
}
