import fc from 'fast-check'
import { DOMParser } from 'linkedom'
import { describe, expect, it } from 'vitest'
import { launchdPlist, marker } from './service-manager.ts'

function stringsOf(text: string, key: string): string[] {
  const document = new DOMParser().parseFromString(text, 'text/xml')
  const found = [...document.querySelectorAll('dict > key')].find((element) => element.textContent === key)
  const value = found?.nextElementSibling
  return value
    ? [...(value.children.length > 0 ? value.children : [value])].map((element) => element.textContent ?? '')
    : []
}

describe('the property list of launchd', () => {
  it('PACK-3 is well-formed and holds every word as it is', () => {
    const word = fc.string({
      unit: fc.constantFrom('<', '>', '&', '"', "'", ']', ' ', 'é', '中', '/', '-', '!', 'a', ';'),
    })
    fc.assert(
      fc.property(word, word, (path, home) => {
        const text = launchdPlist({ command: ['/bin/node', path], environment: { PATH: home }, logFile: path })
        expect(stringsOf(text, 'ProgramArguments')).toEqual(['/bin/node', path])
        expect(stringsOf(text, 'StandardErrorPath')).toEqual([path])
        expect(stringsOf(text, 'EnvironmentVariables')).toEqual(['PATH', home])
        expect(isWellFormed(text)).toBe(true)
      }),
    )
  })

  it('PACK-3 says who wrote it', () => {
    const text = launchdPlist({ command: ['/bin/node'], environment: {}, logFile: '/log' })
    expect(text).toContain(marker)
  })
})

/** Every element that is opened is closed in its turn, and no bare "<" or "&" stands in a text. */
function isWellFormed(text: string): boolean {
  const body = text.replace(/<\?xml[^>]*\?>|<!DOCTYPE[^>]*>|<!--[\s\S]*?-->/g, '')
  const open: string[] = []
  for (const part of body.match(/<[^>]*>|[^<]+/g) ?? []) {
    if (!part.startsWith('<')) {
      if (/&(?!(amp|lt|gt|quot|apos);)/.test(part)) return false
    } else if (part.startsWith('</')) {
      if (open.pop() !== part.slice(2, -1)) return false
    } else if (!part.endsWith('/>')) open.push(part.slice(1, -1).split(' ')[0] ?? '')
  }
  return open.length === 0
}
