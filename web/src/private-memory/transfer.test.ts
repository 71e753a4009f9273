import { expect, it } from 'vitest'
import type { PrivateEntry } from './private-entry.ts'
import { newerOf, readFile, toFile } from './transfer.ts'

const now = '2026-03-01T00:00:00.000Z'
const entry: PrivateEntry = {
  id: 'one',
  title: 'Tea',
  content: 'Green.',
  category: 'personal',
  priority: 5,
  source: 'ai',
  isShared: true,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-02T00:00:00.000Z',
}

it('CLIENT-2 what was exported comes back, and is not shared', () => {
  expect(readFile(toFile([entry], now), now)).toEqual({ entries: [{ ...entry, isShared: false }], leftOut: 0 })
})

it('CLIENT-2 entries that cannot be are left out and counted, and what is missing is filled in', () => {
  const file = JSON.stringify({
    format: 'familiar-private-memory',
    entries: [{ title: 'A', content: 'x', id: '../x', createdAt: 'soon' }, { title: 'B' }, 5],
  })
  const { entries, leftOut } = readFile(file, now)
  expect(leftOut).toBe(2)
  expect(entries).toMatchObject([{ title: 'A', source: 'user', priority: 5, category: 'custom', createdAt: now }])
  expect(entries[0]?.id).not.toBe('../x')
})

it.each(['', '[]', '{"entries":[]}', 'null'])('CLIENT-2 %j is no export', (text) => {
  expect(() => readFile(text, now)).toThrow('not an export')
})

it('CLIENT-2 an import brings what is new or newer', () => {
  const newer = { ...entry, updatedAt: now }
  expect(newerOf([entry], [entry])).toEqual([])
  expect(newerOf([entry], [newer])).toEqual([newer])
  expect(newerOf([newer], [entry, { ...entry, id: 'two' }])).toMatchObject([{ id: 'two' }])
})
