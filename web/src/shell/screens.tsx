import { type ComponentType, type LazyExoticComponent, lazy } from 'react'
import type { IconName } from '../components/icon.tsx'

interface ScreenEntry {
  path: string
  label: string
  icon: IconName
  /** Fetched when it is first looked at. */
  Component: LazyExoticComponent<ComponentType>
  /** Shown to the owner of the home alone. */
  isOwners?: true
}

/** Every screen beside the talk, in the order of the list at the side. */
export const screens: readonly ScreenEntry[] = [
  {
    path: '/memory',
    label: 'Memory',
    icon: 'brain',
    Component: lazyScreen(async () => (await import('../memory/memory-screen.tsx')).MemoryScreen),
  },
  {
    path: '/blocks',
    label: 'Blocks',
    icon: 'block',
    Component: lazyScreen(async () => (await import('../blocks/blocks-screen.tsx')).BlocksScreen),
  },
  {
    path: '/private-memory',
    label: 'Private',
    icon: 'lock',
    Component: lazyScreen(
      async () => (await import('../private-memory/private-memory-screen.tsx')).PrivateMemoryScreen,
    ),
  },
  {
    path: '/skills',
    label: 'Skills',
    icon: 'book',
    isOwners: true,
    Component: lazyScreen(async () => (await import('../skills/skills-screen.tsx')).SkillsScreen),
  },
  {
    path: '/toolbox',
    label: 'Tools',
    icon: 'tool',
    Component: lazyScreen(async () => (await import('../tools/tools-screen.tsx')).ToolsScreen),
  },
  {
    path: '/capabilities',
    label: 'Capabilities',
    icon: 'bolt',
    Component: lazyScreen(async () => (await import('../capabilities/capabilities-screen.tsx')).CapabilitiesScreen),
  },
  {
    path: '/schedules',
    label: 'Schedules',
    icon: 'calendar',
    Component: lazyScreen(async () => (await import('../schedules/schedules-screen.tsx')).SchedulesScreen),
  },
  {
    path: '/cost',
    label: 'Cost',
    icon: 'coin',
    Component: lazyScreen(async () => (await import('../cost/cost-screen.tsx')).CostScreen),
  },
  {
    path: '/monitor',
    label: 'Monitor',
    icon: 'pulse',
    Component: lazyScreen(async () => (await import('../monitor/monitor-screen.tsx')).MonitorScreen),
  },
  {
    path: '/models',
    label: 'Models',
    icon: 'chip',
    Component: lazyScreen(async () => (await import('../models/models-screen.tsx')).ModelsScreen),
  },
  {
    path: '/users',
    label: 'Users',
    icon: 'people',
    isOwners: true,
    Component: lazyScreen(async () => (await import('../users/users-screen.tsx')).UsersScreen),
  },
  {
    path: '/settings',
    label: 'Settings',
    icon: 'gear',
    Component: lazyScreen(async () => (await import('../settings/settings-screen.tsx')).SettingsScreen),
  },
  {
    path: '/doctor',
    label: 'Doctor',
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
