import { expect, it } from 'vitest'
import { readDelay } from './model-errors.ts'

const now = Date.UTC(2026, 10, 15, 9, 0, 0)

it.each<[string, Record<string, string> | undefined, number | undefined]>([
  ['seconds', { 'retry-after': '7' }, 7_000],
  ['part of a second', { 'retry-after': '0.5' }, 500],
  ['milliseconds before seconds', { 'retry-after': '7', 'retry-after-ms': '250' }, 250],
  ['a date', { 'retry-after': 'Sun, 15 Nov 2026 09:00:30 GMT' }, 30_000],
  ['a date that has passed', { 'retry-after': 'Sun, 15 Nov 2026 08:00:00 GMT' }, 0],
  ['nonsense', { 'retry-after': 'soon' }, undefined],
  ['nothing', {}, undefined],
  ['no headers', undefined, undefined],
])('LOOP-7 reads retry-after: %s', (_what, headers, expected) => {
  expect(readDelay(headers, now)).toBe(expected)
})
