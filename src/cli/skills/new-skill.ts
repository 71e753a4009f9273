import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openHome } from '../../daemon/home.ts'
import { isSkillName } from '../../skills/skill-name.ts'
import { importedFolder } from '../../tools/skills/find-skill-folders.ts'
import type { CommandHandler } from '../command.ts'
import { CommandError, usageError } from '../command-error.ts'

interface NewInput {
  name: string
  description?: string
}

/** `familiar skills new NAME`: a skill to begin with, in the workspace. A running Familiar finds it by itself. */
export const newSkill: CommandHandler<NewInput> = async ({ homePath, output }, input) => {
  const { name, description = 'Say here what it is for, and when it is to be used.' } = input
  if (!isSkillName(name) || name === importedFolder) {
    throw usageError('The name of a skill has up to 64 small letters, digits, "_" and "-" between them.')
  }
  const home = await openHome(homePath)
  if (!home.ok) throw new CommandError(home.message, { hint: home.hint })
  const directory = join(home.paths.skills, name)
  await mkdir(directory, { mode: 0o700 }).catch((cause) => {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')) throw cause
    throw usageError(`There is something at ${directory} already.`)
  })
  const path = join(directory, 'SKILL.md')
  await writeFile(path, textOf(name, description), { flag: 'wx', mode: 0o600 })
  if (input.json) output.printJson({ name, directory, files: ['SKILL.md'] })
  else {
    output.print(path)
    output.note(`Write down there what is to be done. To see it as Familiar does: familiar skills show ${name}`)
  }
  return undefined
}

function textOf(name: string, description: string): string {
  return `---
name: ${name}
description: ${JSON.stringify(description)}
---

# ${name}

1. The steps, one by one.
2. Files that belong to it lie beside this one: name them here, such as references/example.md or scripts/run.py.
`
}
