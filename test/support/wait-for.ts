import { vi } from 'vitest'

const patience = { timeout: 20_000, interval: 10 }

/** Vitest's own gives up after a second, which a busy machine can take for anything. */
export function waitFor<T>(condition: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(condition, patience)
}
