import { parseAnyJson } from '../base/json.ts'
import type { Redactor } from './redactor.ts'

/**
 * The same value without secrets: in its texts, in keys that are no plain names, and where a number is one. What holds none
 * is not copied but handed back, so that whoever compares sees that nothing changed. What is no JSON stays as it is.
 */
export function redactJson<T>(redactor: Pick<Redactor, 'redact'>, value: T): T {
  return redactValue(redactor.redact, value) as T
}

/** A text as it is stored. One that is JSON stays JSON: taken out of the text, a secret could take half an escape with it. */
export function redactStored(redactor: Pick<Redactor, 'redact'>, text: string): string {
  const redacted = redactor.redact(text)
  if (redacted === text || !/^[[{]/.test(text)) return redacted
  const parsed = parseAnyJson(text)
  return parsed.ok ? JSON.stringify(redactJson(redactor, parsed.value)) : redacted
}

function redactValue(redact: Redactor['redact'], value: unknown): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value === 'number') {
    const written = String(value)
    const redacted = redact(written)
    return redacted === written ? value : redacted
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => redactValue(redact, item))
    return items.every((item, index) => item === value[index]) ? value : items
  }
  return isPlainObject(value) ? redactObject(redact, value) : value
}

function redactObject(redact: Redactor['redact'], value: Record<string, unknown>): Record<string, unknown> {
  let changed = false
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
    const entry: [string, unknown] = [isName(key) ? key : redact(key), redactValue(redact, inner)]
    changed ||= entry[0] !== key || entry[1] !== inner
    return entry
  })
  return changed ? Object.fromEntries(entries) : value
}

/** A key such as a program writes. Readers look for exactly that, and a secret of letters alone may be one. */
function isName(key: string): boolean {
  return /^[A-Za-z_]{1,40}$/.test(key)
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
