import { formatBytes } from '../../base/format.ts'
import type { SkillReply } from '../../protocol/skill-api.ts'
import type { CommandHandler } from '../command.ts'
import { printFields } from '../memory/describe-memory.ts'
import type { Output } from '../output.ts'
import { statusOf } from './list-skills.ts'
import { withSkills } from './with-skills.ts'

/** `familiar skills show NAME`: all that a model would be told by it. */
export const showSkill: CommandHandler<{ name: string }> = async (context, input) => {
  const skill = await withSkills(context, (skills) => skills.show(input.name))
  if (input.json) context.output.printJson(skill)
  else printSkill(context.output, skill)
  return undefined
}

export function printSkill(output: Output, skill: SkillReply): void {
  output.print(output.style('bold', skill.name))
  if (skill.description) output.print(skill.description)
  output.print()
  printFields(output, [
    ['Status', `${statusOf(output, skill)}${skill.problem ? `: ${skill.problem}` : ''}`],
    ['Folder', skill.directory],
    ['Always', skill.is_always ? 'its instructions stand in every prompt' : null],
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
