import { vi } from 'vitest'

const patience = { timeout: 20_000, interval: 10 }

/** Vitest's own version times out after a second, which is too short on a busy machine. */
export function waitFor<T>(condition: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(condition, patience)
}
