import { findHiddenIn } from '../../contract/manifest/hidden-characters.ts'
import type { CapabilityFiles } from '../capability.ts'
import { decodeText } from '../versions/capability-files.ts'

/** Where a text holds a character that nobody sees: code and words must be what they look like (SEC-14). */
export function findHidden(files: CapabilityFiles): string[] {
  return Array.from(files).flatMap(([path, bytes]) => {
    // An input that failed in use may hold anything, and nobody decides by it.
    const text = path === 'examples.json' ? undefined : decodeText(bytes)
    if (text === undefined) return []
    const lines = text.split('\n')
    const index = lines.findIndex((line) => findHiddenIn(line, path) !== undefined)
    const found = findHiddenIn(lines[index] ?? '', path)
    return found ? [`${path}, line ${index + 1}: ${found.character} cannot be seen. Write it as an escape.`] : []
  })
}
