/** A value of the configuration as a person reads it; null is one that is not shown. */
export function settingWords(json: string | null): string {
  if (json === null) return 'not shown'
  const value: unknown = JSON.parse(json)
  if (value === null) return 'none'
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ')
  if (typeof value === 'object') return 'none'
  return typeof value === 'number' ? numberWords(value) : String(value)
}

function numberWords(value: number): string {
  return Number.isInteger(value)
    ? value.toLocaleString('en-US', { useGrouping: value >= 10_000 })
    : String(Number(value.toPrecision(3)))
}
