import { join } from 'node:path'
import { decodeText } from '../../memory/files/decode-text.ts'
import { findSkillFolders, importedFolder } from '../../tools/skills/find-skill-folders.ts'
import { loadSkillFolder } from '../../tools/skills/load-skill-folder.ts'
import type { LeftOut, PlannedSkill } from './import-plan.ts'
import { withoutKeys } from './without-keys.ts'

/**
 * Skills go where what came from elsewhere lies, and are off there until the owner's word (SEC-14). One whose name is
 * taken is left out: two of a name would be in each other's way.
 */
export async function planSkills(
  roots: readonly string[],
  skillsDirectory: string,
): Promise<{ planned: PlannedSkill[]; leftOut: LeftOut[] }> {
  const imported = join(skillsDirectory, importedFolder)
  const own = await loadAll([
    { path: skillsDirectory, origin: 'workspace' },
    { path: imported, origin: 'imported' },
  ])
  const taken = new Map(own.map(({ entry }) => [entry.name, entry]))
  const planned: PlannedSkill[] = []
  const leftOut: LeftOut[] = []
  for (const { entry, folder } of await loadAll(roots.map((path) => ({ path, origin: 'imported' })))) {
    const other = taken.get(entry.name)
    const leave = (reason: string) => leftOut.push({ path: entry.directory, reason })
    const key = folder?.files.find(({ bytes }) => holdsKey(bytes))
    if (entry.kind === 'wrong') leave(entry.problem)
    else if (other?.kind === 'skill' && other.hash === entry.hash) leave('it is there already')
    else if (other) leave(`there is a skill named ${entry.name} already`)
    else if (key) leave(`${key.path} holds what looks like a key`)
    else {
      taken.set(entry.name, entry)
      const to = join('skills', importedFolder, entry.name)
      const { name, directory: from, hash } = entry
      planned.push({ name, from, to, hash, files: entry.files.length + 1 })
    }
  }
  return { planned, leftOut }
}

async function loadAll(roots: Parameters<typeof findSkillFolders>[0]) {
  const { folders } = await findSkillFolders(roots)
  const loaded = []
  for (const found of folders) loaded.push(await loadSkillFolder(found))
  return loaded
}

function holdsKey(bytes: Uint8Array): boolean {
  const decoded = decodeText(bytes)
  return decoded.ok && withoutKeys(decoded.text).count > 0
}
