import type { CommandHandler } from '../command.ts'
import { confirm } from '../confirm.ts'
import { printSkill } from './show-skill.ts'
import { withSkills } from './with-skills.ts'

/** `familiar skills enable NAME`: also the owner's word for one from elsewhere, exactly as it is shown. */
export const enableSkill: CommandHandler<{ name: string; yes?: boolean }> = async (context, input) => {
  const { output } = context
  const shown = await withSkills(context, (skills) => skills.show(input.name))
  if (shown.origin !== 'workspace' && shown.status === 'off') {
    if (!input.json) printSkill(output, shown)
    if (!input.yes && !(await confirm(context, `Let ${shown.name} tell Familiar what to do?`))) {
      output.note('Nothing was approved.')
      return undefined
    }
  }
  const skill = await withSkills(context, (skills) => skills.enable(input.name, { hash: shown.hash }))
  if (input.json) output.printJson(skill)
  else output.print(`${skill.name} is on.`)
  return undefined
}

export const disableSkill: CommandHandler<{ name: string }> = async (context, input) => {
  const { output } = context
  const skill = await withSkills(context, (skills) => skills.disable(input.name))
  if (input.json) output.printJson(skill)
  else output.print(`${skill.name} is off. To have it again: familiar skills enable ${skill.name}`)
  return undefined
}
