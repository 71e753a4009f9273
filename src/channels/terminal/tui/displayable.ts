import { toDisplayText } from '../../../base/text.ts'

/**
 * The same value with every text in it made harmless, keys included. All that reaches the state of a conversation
 * passes here, so that no part of the drawing has to think of it.
 */
export function displayable<T>(value: T): T {
  return clean(value) as T
}

function clean(value: unknown): unknown {
  if (typeof value === 'string') return toDisplayText(value)
  if (Array.isArray(value)) return value.map(clean)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [toDisplayText(key), clean(inner)]))
}

/**
 * Everything that cannot be seen, as its code: what the user is asked to allow must not be shorter on the screen than
 * it is in truth.
 */
export function withCodes(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from(
      { length: character.length },
      (_, unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`,
    ).join(''),
  )
}
