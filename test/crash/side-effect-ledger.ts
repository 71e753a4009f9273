import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { SideEffect } from './audit/evidence.ts'

/** The world outside: what is written here has happened, and no crash of the daemon takes it back. */
export function recordSideEffect(path: string, line: SideEffect): void {
  const file = openSync(path, 'a')
  // One write, so that a kill leaves the whole line or none of it.
  writeSync(file, `${JSON.stringify(line)}\n`)
  fsyncSync(file)
  closeSync(file)
}

export function readSideEffects(path: string): SideEffect[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line))
}
