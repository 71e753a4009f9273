import { expect, it } from 'vitest'
import { formatBytes } from './storage-tab.tsx'

it.each([
  [0, '0 bytes'],
  [999, '999 bytes'],
  [1_000, '1.0 KB'],
  [123_456, '123 KB'],
  [2_500_000_000, '2.5 GB'],
])('PAGE-6 %d bytes read as %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text)
})
