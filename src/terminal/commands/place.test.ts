import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '../../../test/contract/storage-support.ts'
import { isSamePlace, readPlace, showPlace } from './migrate.ts'

test('SCALE-3 a place is a URL, a home or a file', () => {
  using directory = temporaryDirectory()
  const home = directory.path
  const path = join(home, 'familiar.db')
  expect(readPlace('postgres://host/name')).toEqual({ engine: 'postgres', url: 'postgres://host/name' })
  expect(readPlace(home)).toEqual({ engine: 'sqlite', path, home })
  expect(readPlace(path)).toEqual({ engine: 'sqlite', path, home })
  expect(readPlace(join(home, 'copy.db'))).toEqual({ engine: 'sqlite', path: join(home, 'copy.db'), home: undefined })
  expect(() => readPlace('mysql://host/name')).toThrow(/postgres:\/\/ URL, a home or a file/)
  expect(isSamePlace(readPlace(home), readPlace(path))).toBe(true)
  expect(isSamePlace(readPlace(home), readPlace('postgres://host/name'))).toBe(false)
})

test('SCALE-3 a password is not shown, wherever it stands in the URL', () => {
  expect(showPlace(readPlace('postgres://ada:geheim@host:5433/name'))).toBe('postgres://ada:***@host:5433/name')
  expect(showPlace(readPlace('postgres://host/name?password=geheim'))).toBe('postgres://host/name?password=***')
  expect(showPlace(readPlace('postgres://ada@host/name'))).toBe('postgres://ada@host/name')
})
