import type { Capability } from '../capability.ts'

/** Whether it can be called: while a new version is built the old one serves. */
export function serves({ state, version }: Capability): boolean {
  return version !== null && (state === 'active' || state === 'building')
}
