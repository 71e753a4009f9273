import { expect, it } from 'vitest'
import { createStatementNames } from './statement-names.ts'

it('SCALE-1 a statement gets a name of its own when it has come again and again', () => {
  const nameStatement = createStatementNames({ usesUntilNamed: 2 })
  expect([nameStatement('select 1'), nameStatement('select 2')]).toEqual([undefined, undefined])
  const name = nameStatement('select 1')
  expect(name).toEqual(expect.any(String))
  expect(nameStatement('select 1')).toBe(name)
  expect(nameStatement('select 2')).not.toBe(name)
})

it('SCALE-1 what does not come again is forgotten, and never gives its name to another', () => {
  const nameStatement = createStatementNames({ usesUntilNamed: 2, limit: 2 })
  nameStatement('select 1')
  const name = nameStatement('select 1')
  for (const statement of ['select 2', 'select 3', 'select 4']) nameStatement(statement)
  expect(nameStatement('select 1')).toBeUndefined()
  expect(nameStatement('select 1')).not.toBe(name)
})
