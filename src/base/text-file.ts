import { readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A prompt or other text that belongs to the code, lying beside it. */
export function readBundledText(url: URL): string {
  return readFileSync(fileURLToPath(url), 'utf8').trim()
}

/** Reads small text files again only when they changed; undefined where there is none. */
export function createTextFileCache(): (path: string) => string | undefined {
  const known = new Map<string, { stamp: string; text: string }>()
  return (path) => {
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
