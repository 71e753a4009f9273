const units: Record<string, number> = { '': 1, b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 }

/** `256m`, `1g`, `1.5G`, `512MB`, `268435456` to bytes. Undefined where it is no size. */
export function readByteSize(text: string | number): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,12}(?:\.\d{1,3})?)\s?([bkmg]?)(?:i?b)?$/i.exec(String(text).trim()) ?? []
  const factor = units[unit.toLowerCase()]
  if (digits === undefined || factor === undefined) return undefined
  return Math.floor(Number(digits) * factor)
}

/** `256 MB`, as people say it of memory. */
export function describeByteSize(bytes: number): string {
  const megabytes = bytes / 1024 ** 2
  return megabytes >= 1 ? `${Number(megabytes.toFixed(1))} MB` : `${Math.ceil(bytes / 1024)} KB`
}
