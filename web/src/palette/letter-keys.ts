import { useSyncExternalStore } from 'react'

const name = 'familiar.letter_keys'
const listeners = new Set<() => void>()

/** Whoever speaks to their computer, or hits keys by accident, can switch the shortcuts of one letter off. */
export function usesLetterKeys(): boolean {
  return localStorage.getItem(name) !== 'off'
}

export function setUsesLetterKeys(isOn: boolean): void {
  if (isOn) localStorage.removeItem(name)
  else localStorage.setItem(name, 'off')
  for (const listener of listeners) listener()
}

export function useUsesLetterKeys(): boolean {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }, usesLetterKeys)
}
