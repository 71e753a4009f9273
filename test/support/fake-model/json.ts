export type JsonObject = Record<string, unknown>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects of a list, with whatever is not an object read as an empty one. */
export function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.map((entry) => (isObject(entry) ? entry : {})) : []
}

export function string(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** `JSON.stringify` writes half a surrogate pair as an escape, which strict parsers refuse to read back. */
export function hasLoneSurrogate(bytes: string, value: unknown): boolean {
  return /\\u[dD][89a-fA-F]/.test(bytes) && containsLoneSurrogate(value)
}

function containsLoneSurrogate(value: unknown): boolean {
  if (typeof value === 'string') return !value.isWellFormed()
  if (Array.isArray(value)) return value.some(containsLoneSurrogate)
  if (!isObject(value)) return false
  return Object.entries(value).some(([key, entry]) => !key.isWellFormed() || containsLoneSurrogate(entry))
}

/** The value of a tool call's argument text, or the text itself if it is not JSON. */
export function parseArguments(text: unknown): unknown {
  try {
    return JSON.parse(string(text))
  } catch {
    return text
  }
}
