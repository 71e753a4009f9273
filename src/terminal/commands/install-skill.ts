import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { plural } from '../../base/text.ts'
import {
  findSkillFolders,
  importedFolder,
  type LoadedSkill,
  loadSkillFolder,
} from '../../custom-tools/skill-folders.ts'
import type { ToolFolder } from '../../custom-tools/tool-folder.ts'
import { skills } from '../../protocol/tools.ts'
import { CommandError, type CommandHandler, confirm } from '../command.ts'
import { withApi } from '../connect.ts'
import { requireHome } from '../local-home.ts'
import { fetchSource } from './install-tool.ts'

interface Found {
  entry: LoadedSkill
  folder: ToolFolder
}

/**
 * Copies skills into the home, all of a collection or those that are named. They stay off until the owner has approved
 * them (SEC-14). For the local command line only: no route takes a path or brings text that is followed (SEC-4).
 */
export const installSkill: CommandHandler<{ source: string; names: string[]; yes?: boolean }> = async (
  context,
  { source, names, yes, json },
) => {
  const { output } = context
  const { skills: root } = await requireHome(context)
  const draft = await mkdtemp(join(tmpdir(), 'familiar-install-'))
  try {
    const found = chosen(await skillsIn(await fetchSource(context, source, draft)), names)
    const installed: { name: string; status: string }[] = []
    for (const { entry } of found) {
      const { name } = entry
      const taken = [join(root, name), join(root, importedFolder, name)].find((path) => existsSync(path))
      if (taken) throw new CommandError(`${name} already exists: ${taken}`, { code: 'conflict' })
    }
    for (const { entry, folder } of found) await copyFolder(folder, join(root, importedFolder, entry.name))
    await withApi(context, skills, async (api) => {
      await api.reload()
      for (const { entry } of found) {
        const { name, skill } = entry
        if (!json)
          output.print(`${name} (${plural(entry.files.length + 1, 'file')}): ${skill.description.slice(0, 200)}`)
        const asks = output.isTerminal && yes !== true && !json
        const isOn =
          yes === true || (asks && (await confirm(context, `Enable ${name}? Familiar will follow its instructions.`)))
        const { hash } = await api.show({ name })
        if (isOn) await api.enable({ name, hash })
        installed.push({ name, status: isOn ? 'on' : 'off' })
      }
    })
    return output.report(json, { skills: installed }, () => {
      for (const { name, status } of installed) {
        if (status === 'on') output.print(`${name} is on.`)
        else output.print(`${name} is installed and off. To enable it: ${output.commandLine(`skills enable ${name}`)}`)
      }
    })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

async function skillsIn(place: string): Promise<Found[]> {
  const { folders } = await findSkillFolders([{ path: place, origin: 'imported' }])
  const found: Found[] = []
  const problems: string[] = []
  for (const one of folders) {
    const { entry, folder } = await loadSkillFolder(one)
    if (entry.kind === 'skill' && folder) found.push({ entry, folder })
    else if (entry.kind === 'wrong') problems.push(`${entry.name}: ${entry.problem}`)
  }
  if (found.length > 0) return found
  const reason = problems.length > 0 ? problems.slice(0, 3).join('; ') : 'No folder in it has a SKILL.md'
  throw new CommandError(`There is no skill in it. ${reason}.`, { code: 'bad_request' })
}

/** All of them, or those that are named. */
function chosen(found: readonly Found[], names: readonly string[]): Found[] {
  const known = found.map(({ entry }) => entry.name)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    throw new CommandError(`There is no skill named ${unknown} in it (there: ${known.join(', ')}).`, {
      code: 'not_found',
    })
  }
  return found.filter(({ entry }) => names.length === 0 || names.includes(entry.name))
}

/** Under a hidden name first, so that a running Familiar never sees half of it. */
async function copyFolder({ files }: ToolFolder, target: string): Promise<void> {
  const draft = join(dirname(target), `.draft-${randomUUID()}`)
  await mkdir(draft, { recursive: true, mode: 0o700 })
  try {
    for (const { path, bytes, isExecutable } of files) {
      await mkdir(dirname(join(draft, path)), { recursive: true, mode: 0o700 })
      await writeFile(join(draft, path), bytes, { flag: 'wx', mode: isExecutable ? 0o700 : 0o600 })
    }
    await rename(draft, target)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}
