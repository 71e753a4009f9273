import { readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Clock } from './clock.ts'

/** A prompt or other text that belongs to the code, lying beside it. */
export function readBundledText(url: URL): string {
  return readFileSync(fileURLToPath(url), 'utf8').trim()
}

/**
 * Reads small text files again only when they changed; undefined where there is none. Whether they changed is looked at
 * again after `freshForMs`: many turns at once ask for the same few files.
 */
export function createTextFileCache(clock: Clock, freshForMs = 0): (path: string) => string | undefined {
  const known = new Map<string, { stamp: string; text: string }>()
  const looks = new Map<string, { at: number; text: string | undefined }>()
  return (path) => {
    const now = clock.now()
    const look = looks.get(path)
    if (look && now - look.at < freshForMs) return look.text
    const text = readIfChanged(path)
    looks.set(path, { at: now, text })
    return text
  }

  function readIfChanged(path: string): string | undefined {
    const stat = statSync(path, { throwIfNoEntry: false })
    if (!stat?.isFile()) return undefined
    const stamp = `${stat.mtimeMs}:${stat.size}:${stat.ino}`
    const cached = known.get(path)
    if (cached?.stamp === stamp) return cached.text
    const text = readFileSync(path, 'utf8')
    known.set(path, { stamp, text })
    return text
  }
}
