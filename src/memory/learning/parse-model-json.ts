import type { z } from 'zod'
import { parseAnyJson } from '../../base/json.ts'
import type { Json } from '../../protocol/json.ts'

const longestAnswer = 200_000
const mostBeginnings = 8

/**
 * The JSON in what a model answered: alone, in a fence, or with prose around it. Undefined where there is none. Only an
 * object or a list counts, and it is taken as it is written: broken JSON is not mended.
 */
export function readModelJson(answer: string): Json | undefined {
  const text = answer.slice(0, longestAnswer).trim()
  const whole = objectOrList(text)
  if (whole !== undefined) return whole
  let from = 0
  for (let tried = 0; tried < mostBeginnings; tried += 1) {
    const start = nextOpening(text, from)
    if (start < 0) return undefined
    const end = matchingEnd(text, start)
    const value = end < 0 ? undefined : objectOrList(text.slice(start, end))
    if (value !== undefined) return value
    from = start + 1
  }
  return undefined
}

/**
 * Those items of a list that fit the schema, at most `most`; each is judged by itself, so that a bad one takes no good
 * one with it. Anything but a list has none.
 */
export function readItems<T>(value: Json | undefined, schema: z.ZodType<T>, most: number): T[] {
  if (!Array.isArray(value)) return []
  const items: T[] = []
  // However long the list is, no more than this is looked at.
  for (const item of value.slice(0, most * 4)) {
    const checked = schema.safeParse(item)
    if (checked.success) items.push(checked.data)
    if (items.length === most) break
  }
  return items
}

/** A field of an object that is its own: never one of the prototype's. */
export function fieldOf(value: Json | undefined, name: string): Json | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.hasOwn(value, name) ? value[name] : undefined
}

function objectOrList(text: string): Json | undefined {
  if (!text.startsWith('{') && !text.startsWith('[')) return undefined
  const parsed = parseAnyJson(text)
  return parsed.ok ? parsed.value : undefined
}

function nextOpening(text: string, from: number): number {
  const [brace, bracket] = [text.indexOf('{', from), text.indexOf('[', from)]
  if (brace < 0 || bracket < 0) return Math.max(brace, bracket)
  return Math.min(brace, bracket)
}

/** Just past where what opens at `start` is closed; -1 where it never is. Brackets inside strings do not count. */
function matchingEnd(text: string, start: number): number {
  let depth = 0
  let inString = false
  for (let at = start; at < text.length; at += 1) {
    const character = text.charAt(at)
    if (inString) {
      if (character === '\\') at += 1
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{' || character === '[') depth += 1
    else if (character === '}' || character === ']') depth -= 1
    if (depth === 0) return at + 1
  }
  return -1
}
