import { describe, expect, it } from 'vitest'
import { wantedAt } from './suggestions.tsx'

/** `|` is the cursor. */
function wanted(marked: string) {
  const place = marked.indexOf('|')
  return wantedAt(marked.replace('|', ''), place)
}

describe('suggestions for the text before the cursor', () => {
  it.each([
    ['/co|', { kind: 'command', start: 0, query: '/co' }],
    ['/model fast|', { kind: 'command', start: 0, query: '/model fast' }],
    ['/|compact', { kind: 'command', start: 0, query: '/' }],
    ['@|', { kind: 'file', start: 0, query: '' }],
    ['look at @src/ma|in.ts', { kind: 'file', start: 8, query: 'src/ma' }],
    ['see @@pro|', { kind: 'block', start: 4, query: 'pro' }],
    ['line\n@no|', { kind: 'file', start: 5, query: 'no' }],
  ])('PAGE-4 %s asks for help', (marked, expected) => {
    expect(wanted(marked)).toEqual(expected)
  })

  it.each([
    '|',
    'hello|',
    '//not a command|',
    ' /late|',
    'anna@example.org|',
    '/two\nlines|',
    '@done |',
    '@@@|',
    '|@later',
  ])('PAGE-4 %j asks for none', (marked) => {
    expect(wanted(marked)).toBeUndefined()
  })
})
