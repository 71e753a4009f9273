import { oneLine } from '../../base/format.ts'
import type { SkillSummaryReply } from '../../protocol/skill-api.ts'
import type { CommandHandler } from '../command.ts'
import type { Output } from '../output.ts'
import { withSkills } from './with-skills.ts'

/** `familiar skills list`. */
export const listSkills: CommandHandler<object> = async (context, input) => {
  const { output } = context
  const skills = await withSkills(context, (client) => client.list())
  if (input.json) output.printJson({ skills })
  else if (skills.length === 0) output.print('There are no skills yet. Begin with: familiar skills new NAME')
  else {
    output.printTable(
      skills.map((skill) => [
        skill.name,
        statusOf(output, skill),
        skill.origin,
        oneLine(skill.problem ?? skill.description, 200),
      ]),
      { header: ['Skill', 'Status', 'From', 'What it is for'] },
    )
  }
  return undefined
}

export function statusOf(output: Output, { status, is_always }: SkillSummaryReply): string {
  if (status === 'error') return output.style('red', status)
  if (status === 'off') return output.style('yellow', status)
  return is_always ? 'always' : status
}
