import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { formatBytes, oneLine } from '../../base/text.ts'
import { importedFolder } from '../../custom-tools/skill-folders.ts'
import { openHome } from '../../daemon/home.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { type SkillReply, type SkillSummaryReply, skills } from '../../protocol/tools.ts'
import { isSkillName } from '../../tools/skills.ts'
import { CommandError, type CommandHandler, confirm, usageError } from '../command.ts'
import { withApi } from '../connect.ts'
import type { Output } from '../output.ts'

/** `familiar skills enable NAME`: also approves one from elsewhere, exactly as shown. */
export const enableSkill: CommandHandler<{ name: string; yes?: boolean }> = async (context, input) => {
  const { output } = context
  const shown = await withApi(context, skills, (api) => api.show({ name: input.name }))
  if (shown.origin !== 'workspace' && shown.status === 'off') {
    if (!input.json) printSkill(output, shown)
    if (!input.yes && !(await confirm(context, `Enable ${shown.name}? Familiar will follow its instructions.`))) {
      output.note('Not approved. Nothing was changed.')
      return undefined
    }
  }
  const skill = await withApi(context, skills, (api) => api.enable({ name: input.name, hash: shown.hash }))
  return output.report(input.json, skill, `${skill.name} is on.`)
}

export const disableSkill: CommandHandler<{ name: string }> = async (context, input) => {
  const { output } = context
  const skill = await withApi(context, skills, (api) => api.disable({ name: input.name }))
  return output.report(input.json, skill, `${skill.name} is off. To enable it: familiar skills enable ${skill.name}`)
}

/** `familiar skills list`. */
export const listSkills: CommandHandler<object> = async (context, input) => {
  const { output } = context
  const reply = await withApi(context, skills, (api) => api.list())
  return output.list(input.json, {
    value: reply,
    empty: 'No skills yet. Create one: familiar skills new NAME',
    header: ['Skill', 'Status', 'From', 'Description'],
    rows: reply.skills.map((skill) => [
      skill.name,
      statusOf(output, skill),
      skill.origin,
      oneLine(skill.problem ?? skill.description, 200),
    ]),
  })
}

function statusOf(output: Output, { status, is_always }: SkillSummaryReply): string {
  if (status === 'error') return output.style('red', status)
  if (status === 'off') return output.style('yellow', status)
  return is_always ? 'always' : status
}

interface NewInput {
  name: string
  description?: string
}

/** `familiar skills new NAME`: a skill to begin with, in the workspace. A running Familiar finds it by itself. */
export const newSkill: CommandHandler<NewInput> = async ({ homePath, output }, input) => {
  const { name, description = 'Describe what it is for and when to use it.' } = input
  if (!isSkillName(name) || name === importedFolder) {
    throw usageError('A skill name has up to 64 lowercase letters, digits, "_" and "-".')
  }
  const home = await openHome(homePath)
  if (!home.ok) throw new CommandError(home.message, { hint: home.hint })
  const directory = join(home.paths.skills, name)
  await mkdir(directory, { mode: 0o700 }).catch((cause) => {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')) throw cause
    throw usageError(`${directory} already exists.`)
  })
  const path = join(directory, 'SKILL.md')
  await writeFile(path, textOf(name, description), { flag: 'wx', mode: 0o600 })
  if (input.json) output.printJson({ name, directory, files: ['SKILL.md'] })
  else {
    output.print(path)
    output.note(`Write the instructions there. To see the skill: familiar skills show ${name}`)
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
2. Other files go next to this one: name them here, such as references/example.md or scripts/run.py.
`
}

/** `familiar skills remove NAME`: deletes its folder. Only of skills in the workspace of this home. */
export const removeSkill: CommandHandler<{ name: string; yes?: boolean }> = async (context, input) => {
  const { output, homePath } = context
  const { name, directory } = await withApi(context, skills, (api) => api.show({ name: input.name }))
  const relativePath = relative(homePaths(homePath).skills, directory)
  if (relativePath === '' || relativePath.startsWith('..')) {
    throw new CommandError(`${name} is not in the workspace of this home.`, {
      code: 'bad_request',
      hint: `To turn it off: familiar skills disable ${name}`,
    })
  }
  if (!input.yes && !(await confirm(context, `Delete ${directory}?`))) {
    output.note('Nothing was changed.')
    return undefined
  }
  await rm(directory, { recursive: true, force: true })
  await withApi(context, skills, (api) => api.reload())
  return output.report(input.json, { name, directory, removed: true }, `${name} is removed.`)
}

/** `familiar skills show NAME`: everything that a model would read. */
export const showSkill: CommandHandler<{ name: string }> = async (context, input) => {
  const skill = await withApi(context, skills, (api) => api.show({ name: input.name }))
  return context.output.report(input.json, skill, () => printSkill(context.output, skill))
}

function printSkill(output: Output, skill: SkillReply): void {
  output.print(output.style('bold', skill.name))
  if (skill.description) output.print(skill.description)
  output.print()
  output.printFields([
    ['Status', `${statusOf(output, skill)}${skill.problem ? `: ${skill.problem}` : ''}`],
    ['Folder', skill.directory],
    ['Always', skill.is_always ? 'in every prompt' : null],
    ['License', skill.license],
    ['Needs', skill.compatibility],
  ])
  if (skill.files.length > 0) {
    output.print('\nFiles:')
    output.printTable(skill.files.map(({ path, bytes }) => [`  ${path}`, formatBytes(bytes)]))
  }
  if (skill.instructions) output.print(`\n${skill.instructions}`)
  for (const note of skill.notes) output.print(output.style('dim', `Note: ${note}`))
}
