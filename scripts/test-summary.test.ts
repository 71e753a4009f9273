import { expect, it } from 'vitest'
import { summarise } from './test-summary.ts'

const file = (status: string, ...tests: string[]) => ({
  name: 'a.test.ts',
  status,
  assertionResults: tests.map((test) => ({ status: test })),
})

it('counts tests, and a file that cannot be loaded as a failure', () => {
  const testResults = [
    file('passed', 'passed', 'passed', 'skipped', 'todo', 'pending'),
    file('failed', 'passed', 'failed'),
    file('failed'),
  ]
  expect(summarise(JSON.stringify({ testResults }))).toBe('3 passed, 2 failed, 3 skipped')
})

it('counts nothing as nothing', () => {
  expect(summarise('{"testResults":[]}')).toBe('0 passed, 0 failed, 0 skipped')
})
