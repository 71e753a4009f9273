import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { toFileError } from '../../../base/safe-file.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { CapabilityFiles, CapabilityManifest } from '../capability.ts'
import { skillFile } from '../gate/complete-files.ts'
import { lockFile } from '../versions/lock.ts'
import { skillName, skillText } from './skill-text.ts'

/**
 * Writes a version as a folder that is also an Agent Skill. A skill's folder has its name: what is asked for under another
 * name becomes the folder around it. The skill's own must not be there yet, or be empty; nothing is ever written over.
 */
export async function exportFolder(exported: {
  directory: string
  manifest: CapabilityManifest
  version: number
  files: CapabilityFiles
}): Promise<{ directory: string; files: string[] }> {
  const { manifest, version } = exported
  const asked = resolve(exported.directory)
  const name = skillName(manifest.name)
  const directory = basename(asked) === name ? asked : join(asked, name)
  const files = new Map(exported.files)
  files.delete(lockFile)
  const hasRequirements = files.has('requirements.txt')
  files.set(skillFile, new TextEncoder().encode(skillText(manifest, { version, hasRequirements })))
  try {
    await mkdir(directory, { recursive: true })
    if ((await readdir(directory)).length > 0) {
      throw new FamiliarError('conflict', `${directory} is there already and is not empty.`)
    }
    for (const [path, bytes] of files) {
      await mkdir(dirname(join(directory, path)), { recursive: true })
      await writeFile(join(directory, path), bytes, { flag: 'wx' })
    }
  } catch (cause) {
    throw toFileError(directory, cause)
  }
  return { directory, files: [...files.keys()].sort() }
}
