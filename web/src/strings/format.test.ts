import { afterEach, describe, expect, it } from 'vitest'
import {
  calendarNames,
  formatBytes,
  formatList,
  formatNumber,
  formatPercent,
  formatRelative,
  formatUsd,
  plural,
  setLocale,
} from './format.ts'
import { directionOf, languageFor, localeFor } from './locale.ts'

afterEach(() => setLocale('en-US'))

describe('the formats of a language', () => {
  it.each([
    [0, '0 bytes'],
    [999, '999 bytes'],
    [1_000, '1.0 kB'],
    [123_456, '123 kB'],
    [2_500_000_000, '2.5 GB'],
  ])('PAGE-6 %d bytes read as %s', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text)
  })

  it('PAGE-7a numbers, dollars, shares, lists, days and relative times follow the language', () => {
    setLocale('de')
    expect(formatNumber(1_234.5)).toBe('1.234,5')
    expect(formatUsd(0.5, 2)).toBe('0,50\u00a0$')
    expect(formatPercent(0.42)).toBe('42\u00a0%')
    expect(formatList(['a', 'b', 'c'], 'conjunction')).toBe('a, b und c')
    expect(formatRelative(-1, 'day')).toBe('gestern')
    expect(calendarNames('weekday')[0]).toBe('Sonntag')
    expect(calendarNames('month')[11]).toBe('Dezember')
    setLocale('ja')
    expect(formatRelative(2, 'hour')).toBe('2 時間後')
  })

  it('PAGE-7a a plural has the form of the language, six of them in Arabic', () => {
    const forms = { zero: 'zero', one: 'one', two: 'two', few: '# few', many: '# many', other: '# other' }
    setLocale('ar-u-nu-latn')
    expect([0, 1, 2, 5, 11, 100].map((count) => plural(count, forms))).toEqual([
      'zero',
      'one',
      'two',
      '5 few',
      '11 many',
      '100 other',
    ])
    setLocale('ja')
    expect(plural(1, forms)).toBe('1 other')
    setLocale('fr')
    expect(plural(0, forms)).toBe('one')
  })
})

describe('the language of the page', () => {
  it.each([
    [['de-AT', 'en'], 'de', 'de-AT'],
    [['nl', 'fr-CA'], 'fr', 'fr-CA'],
    [['zh-TW'], 'zh', 'zh-Hans'],
    [['ar-EG'], 'ar', 'ar-EG-u-nu-latn'],
    [['nl', 'xx-not-one'], 'en', 'en'],
    [[], 'en', 'en'],
  ] as const)('PAGE-7a a browser that asks for %j gets %s', (wanted, language, locale) => {
    expect(languageFor(wanted)).toBe(language)
    expect(localeFor(language, wanted)).toBe(locale)
  })

  it('PAGE-7b Arabic runs from right to left', () => {
    expect(directionOf('ar')).toBe('rtl')
    expect(directionOf('ja')).toBe('ltr')
  })
})
