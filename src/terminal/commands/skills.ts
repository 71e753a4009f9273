import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { formatBytes, oneLine } from '../../base/text.ts'
import { importedFolder } from '../../custom-tools/skill-folders.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { type SkillSummaryReply, skills } from '../../protocol/tools.ts'
import { isSkillName } from '../../tools/skills.ts'
import { CommandError, type CommandHandler, isConfirmed, usageError } from '../command.ts'
import { type Answer, apiCommand, withApi } from '../connect.ts'
import { requireHome } from '../local-home.ts'
import type { Output } from '../output.ts'

/** Also approves one from elsewhere, exactly as shown. */
export const enableSkill: CommandHandler<{ name: string; yes?: boolean }> = async (context, input) => {
  const { output } = context
  const shown = await withApi(context, skills, (api) => api.show({ name: input.name }))
  if (shown.origin !== 'workspace' && shown.status === 'off') {
    if (!input.json) printSkill(shown, output)
    const question = `Enable ${shown.name}? Familiar will follow its instructions.`
    if (!(await isConfirmed(context, input, question, 'Not approved. Nothing was changed.'))) return undefined
  }
  const skill = await withApi(context, skills, (api) => api.enable({ name: input.name, hash: shown.hash }))
  return output.report(input.json, skill, `${skill.name} is on.`)
}

export const disableSkill = apiCommand(
  skills,
  (api, { name }: { name: string }) => api.disable({ name }),
  ({ name }, { commandLine }) => `${name} is off. To enable it: ${commandLine(`skills enable ${name}`)}`,
)

export const listSkills = apiCommand(
  skills,
  (api) => api.list(),
  (reply, output) => ({
    empty: 'No skills yet. Create one: familiar skills new NAME',
    header: ['Skill', 'Status', 'From', 'Description'],
    rows: reply.skills.map((skill) => [
      skill.name,
      statusOf(output, skill),
      skill.origin,
      oneLine(skill.problem ?? skill.description, 200),
    ]),
  }),
)

function statusOf(output: Output, { status, is_always }: SkillSummaryReply): string {
  if (status === 'error') return output.style('red', status)
  if (status === 'off') return output.style('yellow', status)
  return is_always ? 'always' : status
}

/** A skill to start with, in the workspace. A running Familiar finds it by itself. */
export const newSkill: CommandHandler<{ name: string; description?: string }> = async (context, input) => {
  const { output } = context
  const { name, description = 'Describe what it is for and when to use it.' } = input
  if (!isSkillName(name) || name === importedFolder) {
    throw usageError('A skill name has up to 64 lowercase letters, digits, "_" and "-".')
  }
  const directory = join((await requireHome(context)).skills, name)
  await mkdir(directory, { mode: 0o700 }).catch((cause: NodeJS.ErrnoException) => {
    throw cause.code === 'EEXIST' ? usageError(`${directory} already exists.`) : cause
  })
  const path = join(directory, 'SKILL.md')
  await writeFile(path, textOf(name, description), { flag: 'wx', mode: 0o600 })
  return output.report(input.json, { name, directory, files: ['SKILL.md'] }, () => {
    output.print(path)
    output.note(`Write the instructions there. To see the skill: ${output.commandLine(`skills show ${name}`)}`)
  })
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

/** Deletes its folder. Only for skills in the workspace of this home. */
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
  if (!(await isConfirmed(context, input, `Delete ${directory}?`))) return undefined
  await rm(directory, { recursive: true, force: true })
  await withApi(context, skills, (api) => api.reload())
  return output.report(input.json, { name, directory, removed: true }, `${name} is removed.`)
}

/** Shows everything that a model would read. */
export const showSkill = apiCommand(skills, (api, { name }: { name: string }) => api.show({ name }), printSkill)

function printSkill(skill: Answer<typeof skills.show>, output: Output): undefined {
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
