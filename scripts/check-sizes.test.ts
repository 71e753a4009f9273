import { expect, it } from 'vitest'
import { checkSizes } from './check-sizes.ts'

const lines = (count: number): string => 'x\n'.repeat(count)

it('fails on a source file over 800 lines and reports the spread', () => {
  const files = new Map([
    ['src/a/small.ts', lines(10)],
    ['src/a/limit.ts', lines(800)],
    ['src/a/large.ts', lines(801)],
    ['src/a/large.test.ts', lines(900)],
    ['scripts/large.ts', lines(900)],
  ])
  expect(checkSizes(files)).toEqual({
    findings: ['src/a/large.ts: 801 lines, the limit is 800'],
    note: '3 files, median 800 lines, p90 801',
  })
})

it('has nothing to say about an empty repository', () => {
  expect(checkSizes(new Map())).toEqual({ findings: [], note: '0 files, median 0 lines, p90 0' })
})
