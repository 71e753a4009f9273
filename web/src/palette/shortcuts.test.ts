import { describe, expect, it } from 'vitest'
import { isPalettePress, letterAction, screenLetters } from './shortcuts.ts'

const press = { key: 'k', ctrlKey: false, metaKey: false, altKey: false, shiftKey: false }

describe('isPalettePress', () => {
  it('is Ctrl-K, and Cmd-K on a Mac, where Ctrl-K belongs to the text field', () => {
    expect(isPalettePress({ ...press, ctrlKey: true }, false)).toBe(true)
    expect(isPalettePress({ ...press, metaKey: true }, true)).toBe(true)
    expect(isPalettePress({ ...press, ctrlKey: true }, true)).toBe(false)
    expect(isPalettePress({ ...press, metaKey: true }, false)).toBe(false)
  })

  it('is nothing with further keys, which are the browser’s', () => {
    expect(isPalettePress({ ...press, ctrlKey: true, shiftKey: true }, false)).toBe(false)
    expect(isPalettePress({ ...press, ctrlKey: true, altKey: true }, false)).toBe(false)
  })
})

describe('letterAction', () => {
  it('goes to a screen by two letters', () => {
    expect(letterAction('g', undefined)).toEqual({ kind: 'wait' })
    expect(letterAction('s', 'g')).toEqual({ kind: 'go', path: '/schedules' })
    expect(letterAction('n', 'g')).toBeUndefined()
    expect(letterAction('s', undefined)).toBeUndefined()
  })

  it('has a letter of its own for each screen', () => {
    const letters = Object.values(screenLetters)
    expect(new Set(letters).size).toBe(letters.length)
  })
})
