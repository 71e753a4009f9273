import type { Json } from '../../protocol/json.ts'

/** Whether a value is nested more deeply than that. What walks or writes such values recursively would run out of stack. */
export function isDeeperThan(value: Json, most: number): boolean {
  let level: Json[] = [value]
  for (let depth = 0; depth <= most; depth += 1) {
    level = level.flatMap((inner) => (inner !== null && typeof inner === 'object' ? Object.values(inner) : []))
    if (level.length === 0) return false
  }
  return true
}
