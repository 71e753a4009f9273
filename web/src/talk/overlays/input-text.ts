import type { Json } from '../../../../src/protocol/json.ts'

/** A text of what a tool was called with; empty where there is none. What a model wrote may have any shape. */
export function inputText(input: Json, key: string): string {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return ''
  const value = input[key]
  return typeof value === 'string' ? value : ''
}
