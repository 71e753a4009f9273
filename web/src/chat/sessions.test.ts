import { expect, it } from 'vitest'
import { groupOf } from './sessions.ts'

const now = new Date(2026, 5, 15, 9, 30)

it.each([
  [new Date(2026, 5, 15, 0, 5), 'Today'],
  [new Date(2026, 5, 14, 23, 55), 'Yesterday'],
  [new Date(2026, 5, 14, 0, 0), 'Yesterday'],
  [new Date(2026, 5, 13, 23, 59), 'Previous 7 days'],
  [new Date(2026, 5, 8, 0, 0), 'Previous 7 days'],
  [new Date(2026, 5, 7, 23, 59), 'Previous 30 days'],
  [new Date(2025, 11, 31), 'Older'],
])('PAGE-10 a conversation of %s is listed under %s', (at, group) => {
  const session = { updated_at: at.toISOString(), is_pinned: false }
  expect(groupOf(session, now)).toBe(group)
  expect(groupOf({ ...session, is_pinned: true }, now)).toBe('Pinned')
})
