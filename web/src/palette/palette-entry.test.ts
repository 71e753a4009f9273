import { describe, expect, it } from 'vitest'
import { findEntries, type PaletteEntry } from './palette-entry.ts'

const entry = (group: string, label: string, more: Partial<PaletteEntry> = {}): PaletteEntry => ({
  ...{ id: `${group} ${label}`, group, label, icon: 'talk', run: () => undefined },
  ...more,
})
const entries = [
  entry('Screens', 'Schedules'),
  entry('Screens', 'Settings', { words: 'theme colours' }),
  entry('Conversations', 'Sailing school', { detail: 'the schedule of the week' }),
  ...Array.from({ length: 10 }, (_, index) => entry('Commands', `/sample${index}`)),
]
const labels = (query: string) => findEntries(entries, query).map(({ label }) => label)

describe('findEntries', () => {
  it('shows the groups in their order where nothing is typed, and a few of each', () => {
    expect(labels('').slice(0, 4)).toEqual(['Schedules', 'Settings', 'Sailing school', '/sample0'])
    expect(labels('')).toHaveLength(9)
  })

  it('finds by the name first, and then by other words', () => {
    expect(labels('sched')).toEqual(['Schedules', 'Sailing school'])
    expect(labels('theme')).toEqual(['Settings'])
    expect(labels('nothing like that')).toEqual([])
  })
})
