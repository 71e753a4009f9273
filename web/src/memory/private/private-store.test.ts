import { expect, it } from 'vitest'
import { isUsersName, newerOf, type PrivateEntry, readPrivateFile, toFile } from './private-store.ts'

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

it('CLIENT-2 an export can be imported, and its entries are not shared', () => {
  expect(readPrivateFile(toFile([entry], now), now)).toEqual({ entries: [{ ...entry, isShared: false }], leftOut: 0 })
})

it('CLIENT-2 invalid entries are skipped and counted, and missing fields are filled in', () => {
  const file = JSON.stringify({
    format: 'familiar-private-memory',
    entries: [{ title: 'A', content: 'x', id: '../x', createdAt: 'soon' }, { title: 'B' }, 5],
  })
  const { entries, leftOut } = readPrivateFile(file, now)
  expect(leftOut).toBe(2)
  expect(entries).toMatchObject([{ title: 'A', source: 'user', priority: 5, category: 'custom', createdAt: now }])
  expect(entries[0]?.id).not.toBe('../x')
})

it.each(['', '[]', '{"entries":[]}', 'null'])('CLIENT-2 %j is no export', (text) => {
  expect(() => readPrivateFile(text, now)).toThrow('not an export')
})

it('CLIENT-2 an import adds new and newer entries', () => {
  const newer = { ...entry, updatedAt: now }
  expect(newerOf([entry], [entry])).toEqual([])
  expect(newerOf([entry], [newer])).toEqual([newer])
  expect(newerOf([newer], [entry, { ...entry, id: 'two' }])).toMatchObject([{ id: 'two' }])
})

it.each([
  ['User name is John', 'The user is John. Always address them by name.'],
  ['User’s name', 'John'],
  ["The user's preferred name: Jo", 'Jo'],
  ['My name is John', 'x'],
  ['Name', 'The user’s name is John.'],
  ['Name: Jo', 'Call me Jo.'],
])('CLIENT-3 %j is the user’s own name', (title, content) => {
  expect(isUsersName({ title, content })).toBe(true)
})

it.each([
  ['Dog’s name', 'The dog’s name is Rex.'],
  ["User's dog's name is Rex", 'Rex'],
  ['Name', 'The dog’s name is Rex.'],
  ['User name for the router', 'admin'],
  ['Username', 'john42'],
  ['Name of the boss', 'The user says that the boss is called Ann.'],
  ['Filename', 'x'],
])('CLIENT-3 %j is not', (title, content) => {
  expect(isUsersName({ title, content })).toBe(false)
})
