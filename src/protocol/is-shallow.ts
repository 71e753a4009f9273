import type { Json } from './json.ts'

/** Walks without recursion: a body of a megabyte of brackets must not end the stack. */
export function isShallow(value: Json, maxDepth: number): boolean {
  let level: Json[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) return false
    level = level.flatMap((item) => (item !== null && typeof item === 'object' ? Object.values(item) : []))
  }
  return true
}
