import { type ComponentType, type LazyExoticComponent, lazy } from 'react'
import type { IconName } from '../components/icon.tsx'
import { t } from '../strings/strings.ts'

/** A place in the side list. Its screens are its sections. */
export interface Destination {
  name: 'memory' | 'tools' | 'schedules' | 'settings'
  path: string
  label: string
  icon: IconName
}

/** Beside the chat, in the order of the side list. */
export const destinations: readonly Destination[] = [
  { name: 'memory', path: '/memory', label: t.common.memory, icon: 'brain' },
  { name: 'tools', path: '/toolbox', label: t.common.tools, icon: 'tool' },
  { name: 'schedules', path: '/schedules', label: t.shell.schedules, icon: 'calendar' },
  { name: 'settings', path: '/settings', label: t.common.settings, icon: 'gear' },
]

interface ScreenEntry {
  path: string
  destination: Destination['name']
  /** As a section of its destination. */
  label: string
  icon: IconName
  /** Loaded on first use. */
  Component: LazyExoticComponent<ComponentType>
  /** Shown to the owner only. */
  isOwners?: true
}

const SettingsScreen = lazyScreen(async () => (await import('../settings/settings-screen.tsx')).SettingsScreen)

/** Every screen except the chat, in the order of the sections. */
export const screens: readonly ScreenEntry[] = [
  {
    path: '/memory',
    destination: 'memory',
    label: t.common.memory,
    icon: 'brain',
    Component: lazyScreen(async () => (await import('../memory/memory-screen.tsx')).MemoryScreen),
  },
  {
    path: '/blocks',
    destination: 'memory',
    label: t.shell.notes,
    icon: 'block',
    Component: lazyScreen(async () => (await import('../blocks/blocks-screen.tsx')).BlocksScreen),
  },
  {
    path: '/private-memory',
    destination: 'memory',
    label: t.shell.privateNotes,
    icon: 'lock',
    Component: lazyScreen(async () => (await import('../memory/private/private-screen.tsx')).PrivateMemoryScreen),
  },
  {
    path: '/toolbox',
    destination: 'tools',
    label: t.common.tools,
    icon: 'tool',
    Component: lazyScreen(async () => (await import('../tools/tools-screen.tsx')).ToolsScreen),
  },
  {
    path: '/capabilities',
    destination: 'tools',
    label: t.common.builtTools,
    icon: 'bolt',
    Component: lazyScreen(async () => (await import('../tools/built-tools-screen.tsx')).CapabilitiesScreen),
  },
  {
    path: '/skills',
    destination: 'tools',
    label: t.common.skills,
    icon: 'book',
    isOwners: true,
    Component: lazyScreen(async () => (await import('../skills/skills-screen.tsx')).SkillsScreen),
  },
  {
    path: '/schedules',
    destination: 'schedules',
    label: t.shell.schedules,
    icon: 'calendar',
    Component: lazyScreen(async () => (await import('../schedules/schedules-screen.tsx')).SchedulesScreen),
  },
  {
    path: '/settings',
    destination: 'settings',
    label: t.options.general,
    icon: 'gear',
    Component: SettingsScreen,
  },
  {
    path: '/models',
    destination: 'settings',
    label: t.shell.models,
    icon: 'chip',
    Component: lazyScreen(async () => (await import('../models/models-screen.tsx')).ModelsScreen),
  },
  {
    path: '/settings/permissions',
    destination: 'settings',
    label: t.options.permissions,
    icon: 'shield',
    isOwners: true,
    Component: SettingsScreen,
  },
  {
    path: '/cost',
    destination: 'settings',
    label: t.common.cost,
    icon: 'coin',
    Component: lazyScreen(async () => (await import('../cost/cost-screen.tsx')).CostScreen),
  },
  {
    path: '/settings/memory',
    destination: 'settings',
    label: t.options.memoryOptions,
    icon: 'brain',
    isOwners: true,
    Component: SettingsScreen,
  },
  {
    path: '/settings/voice',
    destination: 'settings',
    label: t.settings.voice,
    icon: 'microphone',
    Component: SettingsScreen,
  },
  {
    path: '/settings/notifications',
    destination: 'settings',
    label: t.notices.title,
    icon: 'bell',
    Component: SettingsScreen,
  },
  {
    path: '/settings/telegram',
    destination: 'settings',
    label: t.settings.telegram,
    icon: 'paper_plane',
    isOwners: true,
    Component: SettingsScreen,
  },
  {
    path: '/users',
    destination: 'settings',
    label: t.shell.users,
    icon: 'people',
    isOwners: true,
    Component: lazyScreen(async () => (await import('../users/users-screen.tsx')).UsersScreen),
  },
  {
    path: '/settings/browsers',
    destination: 'settings',
    label: t.settings.devices,
    icon: 'lock',
    Component: SettingsScreen,
  },
  {
    path: '/settings/sent',
    destination: 'settings',
    label: t.settings.outgoingMessages,
    icon: 'archive',
    Component: SettingsScreen,
  },
  {
    path: '/monitor',
    destination: 'settings',
    label: t.shell.activity,
    icon: 'pulse',
    Component: lazyScreen(async () => (await import('../monitor/monitor-screen.tsx')).MonitorScreen),
  },
  {
    path: '/doctor',
    destination: 'settings',
    label: t.shell.healthCheck,
    icon: 'gauge',
    isOwners: true,
    Component: lazyScreen(async () => (await import('../settings/doctor-screen.tsx')).DoctorScreen),
  },
  {
    path: '/settings/configuration',
    destination: 'settings',
    label: t.settings.configuration,
    icon: 'block',
    isOwners: true,
    Component: SettingsScreen,
  },
]

/** The screen with the longest path that fits. */
export function screenAt(path: string): ScreenEntry | undefined {
  return screens
    .filter((screen) => path === screen.path || path.startsWith(`${screen.path}/`))
    .toSorted((one, other) => other.path.length - one.path.length)[0]
}

function lazyScreen(load: () => Promise<ComponentType>): LazyExoticComponent<ComponentType> {
  return lazy(async () => ({ default: await load() }))
}
