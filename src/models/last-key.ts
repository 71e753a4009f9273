import { parseAnyJson } from '../base/json.ts'

/**
 * The same object with one key moved to the end. The conversation goes last in every request body, so that a request is
 * the one before it plus what is new, byte for byte, with nothing constant behind the part that grows.
 */
export function withKeyLast<T extends Record<string, unknown>>(body: T, key: keyof T & string): T {
  const { [key]: last, ...rest } = body
  return { ...rest, [key]: last } as T
}

/** For SDKs that give no access to the body before it is text. */
export function fetchWithKeyLast(fetch: typeof globalThis.fetch, key: string): typeof globalThis.fetch {
  return (input, init) => {
    if (typeof init?.body !== 'string') return fetch(input, init)
    const parsed = parseAnyJson(init.body)
    if (!parsed.ok) return fetch(input, init)
    const body = withKeyLast(parsed.value as Record<string, unknown>, key)
    return fetch(input, { ...init, body: JSON.stringify(body) })
  }
}
