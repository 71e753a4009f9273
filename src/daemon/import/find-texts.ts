import { join, posix } from 'node:path'
import type { LeftOut } from './import-plan.ts'
import { entriesOf } from './source-folder.ts'
import { isSecretName, type SourceText, secretReason } from './source-layout.ts'

const deepest = 6
const mostTexts = 5_000

/** Every Markdown and plain text under a folder, for the same place under `to`; the others named as left out. */
export async function findTexts(folder: string, to: string): Promise<{ texts: SourceText[]; leftOut: LeftOut[] }> {
  const texts: SourceText[] = []
  const leftOut: LeftOut[] = []
  await walk(folder, to, 0)
  return { texts, leftOut }

  async function walk(current: string, target: string, depth: number): Promise<void> {
    for (const entry of await entriesOf(current)) {
      const path = join(current, entry.name)
      const leave = (reason: string) => leftOut.push({ path, reason })
      if (entry.name.startsWith('.') && !isSecretName(entry.name)) continue
      if (entry.isSymbolicLink()) leave('it is a link')
      else if (isSecretName(entry.name)) leave(secretReason)
      else if (entry.isDirectory()) {
        if (depth < deepest) await walk(path, posix.join(target, entry.name), depth + 1)
        else leave('it lies too deep')
      } else if (!entry.isFile() || !/\.(md|markdown|txt)$/i.test(entry.name)) leave('it is no text')
      else if (texts.length >= mostTexts) leave(`there are more than ${mostTexts}`)
      else texts.push({ from: path, to: posix.join(target, entry.name) })
    }
  }
}
