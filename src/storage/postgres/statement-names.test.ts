import { expect, it } from 'vitest'
import { createStatementNames } from './connection.ts'

it('SCALE-1 names a statement after repeated use', () => {
  const nameStatement = createStatementNames({ usesUntilNamed: 2 })
  expect([nameStatement('select 1'), nameStatement('select 2')]).toEqual([undefined, undefined])
  const name = nameStatement('select 1')
  expect(name).toEqual(expect.any(String))
  expect(nameStatement('select 1')).toBe(name)
  expect(nameStatement('select 2')).not.toBe(name)
})

it('SCALE-1 forgets statements that do not repeat, and never reuses their names', () => {
  const nameStatement = createStatementNames({ usesUntilNamed: 2, limit: 2 })
  nameStatement('select 1')
  const name = nameStatement('select 1')
  for (const statement of ['select 2', 'select 3', 'select 4']) nameStatement(statement)
  expect(nameStatement('select 1')).toBeUndefined()
  expect(nameStatement('select 1')).not.toBe(name)
})
