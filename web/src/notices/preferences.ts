import { useSyncExternalStore } from 'react'
import type { Notice } from '../../../src/protocol/page.ts'

/** The kinds that are switched together. */
export const noticeGroups = {
  approvals: ['approval'],
  questions: ['question'],
  builds: ['build_ready', 'build_failed', 'repair_ready', 'repair_failed'],
  schedules: ['schedule'],
  replies: ['reply', 'reply_failed'],
} as const satisfies Record<string, readonly Notice['kind'][]>

export type NoticeGroup = keyof typeof noticeGroups

const switchName = 'familiar.notifications'
const mutedName = 'familiar.notices.muted'
const listeners = new Set<() => void>()

function tell(): void {
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  window.addEventListener('storage', listener)
  return () => {
    listeners.delete(listener)
    window.removeEventListener('storage', listener)
  }
}

function muted(): string[] {
  return (localStorage.getItem(mutedName) ?? '').split(' ').filter(Boolean)
}

export function isWanted(kind: Notice['kind']): boolean {
  const [group] = Object.entries(noticeGroups).find(([, kinds]) => (kinds as readonly string[]).includes(kind)) ?? []
  return group === undefined || !muted().includes(group)
}

export function setWanted(group: NoticeGroup, isOn: boolean): void {
  const others = muted().filter((name) => name !== group)
  localStorage.setItem(mutedName, (isOn ? others : [...others, group]).join(' '))
  tell()
}

export function useMuted(): readonly string[] {
  return useSyncExternalStore(subscribe, () => localStorage.getItem(mutedName) ?? '').split(' ')
}

/** `absent`: the browser has none here. `blocked`: the user refused them, which only the browser's settings change. */
export type NotificationState = 'absent' | 'blocked' | 'off' | 'on'

function notificationState(): NotificationState {
  if (!('Notification' in window) || !window.isSecureContext) return 'absent'
  if (Notification.permission === 'denied') return 'blocked'
  return Notification.permission === 'granted' && localStorage.getItem(switchName) === 'on' ? 'on' : 'off'
}

export const notificationsAreOn = () => notificationState() === 'on'

export function useNotificationState(): NotificationState {
  return useSyncExternalStore(subscribe, notificationState)
}

/** Asks for the permission: call it from a click. */
export async function setNotifications(isOn: boolean): Promise<void> {
  if (isOn && (await Notification.requestPermission()) === 'granted') localStorage.setItem(switchName, 'on')
  else localStorage.removeItem(switchName)
  tell()
}
