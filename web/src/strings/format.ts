/** Numbers, dates, lists and plurals as the page's language writes them. */

let locale = 'en-US'

/** Called once, before the page is drawn. */
export function setLocale(next: string): void {
  locale = next
  formatters.clear()
}

const formatters = new Map<string, unknown>()

/** Creating a formatter is slow, so each is created once. */
function cached<T>(kind: string, options: object, create: (locale: string) => T): T {
  const key = `${kind} ${JSON.stringify(options)}`
  const known = formatters.get(key) as T | undefined
  if (known !== undefined) return known
  const made = create(locale)
  formatters.set(key, made)
  return made
}

export function formatNumber(value: number, options: Intl.NumberFormatOptions = {}): string {
  return cached('number', options, (locale) => new Intl.NumberFormat(locale, options)).format(value)
}

/** With exactly that many digits after the point. */
export function formatDecimal(value: number, digits: number): string {
  return formatNumber(value, { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** `0.42` as `42%`. */
export function formatPercent(share: number): string {
  return formatNumber(share, { style: 'percent', maximumFractionDigits: 0 })
}

/** Dollars, the currency of every price. Arabic text would tear the letters of its own `US$` apart: it gets `$0.50`, isolated. */
export function formatUsd(amount: number, digits: number, atLeast = digits): string {
  const options: Intl.NumberFormatOptions = {
    style: 'currency',
    currency: 'USD',
    currencyDisplay: 'narrowSymbol',
    minimumFractionDigits: atLeast,
    maximumFractionDigits: digits,
  }
  return locale.startsWith('ar')
    ? `\u2066${new Intl.NumberFormat('en', options).format(amount)}\u2069`
    : formatNumber(amount, options)
}

const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

export function formatBytes(amount: number): string {
  const step = amount < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(amount) / 3))
  const value = amount / 1_000 ** step
  const digits = step === 0 || value >= 100 ? 0 : 1
  return formatNumber(value, {
    style: 'unit',
    unit: units[step] ?? 'byte',
    unitDisplay: step === 0 ? 'long' : 'short',
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })
}

const moment: Intl.DateTimeFormatOptions = { dateStyle: 'medium', timeStyle: 'short' }

export function formatDate(at: Date | number | string, options: Intl.DateTimeFormatOptions = moment): string {
  return cached('date', options, (locale) => new Intl.DateTimeFormat(locale, options)).format(new Date(at))
}

export function formatRelative(value: number, unit: Intl.RelativeTimeFormatUnit): string {
  const options = { numeric: 'auto' } as const
  return cached('relative', options, (locale) => new Intl.RelativeTimeFormat(locale, options)).format(value, unit)
}

/** `a, b and c`; as a `unit` without the word: `a, b, c`. */
export function formatList(items: readonly string[], type: 'conjunction' | 'unit' = 'unit'): string {
  const options = { type, style: type === 'unit' ? 'short' : 'long' } as const
  return cached('list', options, (locale) => new Intl.ListFormat(locale, options)).format(items)
}

export function languageName(tag: string): string {
  return cached('language', {}, (locale) => new Intl.DisplayNames(locale, { type: 'language' })).of(tag) ?? tag
}

/** The names of the days from Sunday, or of the months from January. */
export function calendarNames(of: 'weekday' | 'month'): string[] {
  const options = { [of]: 'long', timeZone: 'UTC' } as const
  // The first of February 1970 is a Sunday.
  return Array.from({ length: of === 'weekday' ? 7 : 12 }, (_, at) =>
    formatDate(of === 'weekday' ? Date.UTC(1970, 1, 1 + at) : Date.UTC(1970, at, 1), options),
  )
}

export const compareNames = (a: string, b: string): number => {
  const options = { numeric: true, sensitivity: 'base' } as const
  return cached('order', options, (locale) => new Intl.Collator(locale, options)).compare(a, b)
}

/** The sentence for a number in the page's language; `#` is the number. Arabic has all six forms. */
export function plural(count: number, forms: Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }): string {
  const form = cached('plural', {}, (locale) => new Intl.PluralRules(locale)).select(count)
  return (forms[form] ?? forms.other).replaceAll('#', () => formatNumber(count))
}
