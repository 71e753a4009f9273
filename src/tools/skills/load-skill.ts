import { z } from 'zod'
import { findSkills } from '../../skills/find-skills.ts'
import { pageOf } from '../builtin/foreign-text.ts'
import { defineTool, failed } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import type { LoadedSkill } from './load-skill-folder.ts'
import type { SkillFolders } from './skill-folders.ts'

const longestPage = 40_000
const mostFilesNamed = 60

/** A skill's instructions, when the task is there that they are for. Words that are no name find the names that fit. */
export function createLoadSkill(folders: SkillFolders): Tool {
  const usable = () => folders.all().filter((entry) => entry.kind === 'skill' && folders.whyOff(entry) === undefined)

  return defineTool({
    name: 'load_skill',
    description: 'Instructions of a skill, by its name; or find one by words.',
    input: z.object({ name: z.string().min(1).max(200) }),
    effect: 'idempotent',
    core: true,
    async run({ name }) {
      const entry = folders.find(name.trim())
      if (entry?.kind === 'wrong') return failed(`${name} is broken. ${entry.problem}`)
      const why = entry && folders.whyOff(entry)
      if (why !== undefined) return failed(`${name} is off. ${why}`)
      if (entry) return loaded(entry)
      const skills = usable().flatMap((one) => (one.kind === 'skill' ? [one.skill] : []))
      if (skills.length === 0) return failed('There are no skills.')
      const found = findSkills(skills, name)
      if (found.length === 0) return failed(`No skill has that name or fits these words. There are ${skills.length}.`)
      return { text: found.map((skill) => `- ${skill.name}: ${skill.description}`).join('\n'), isError: false }
    },
  })
}

function loaded({ name, skill, files }: LoadedSkill) {
  const text = [`<skill name="${name}">`, pageOf(skill.instructions, 0, longestPage), '</skill>', ...filesOf(files)]
  const foundTools = files.length === 0 ? [] : ['read_skill_file', 'run_skill_script']
  return { text: text.join('\n'), isError: false, foundTools }
}

function filesOf(files: LoadedSkill['files']): string[] {
  if (files.length === 0) return []
  const named = files.slice(0, mostFilesNamed).map(({ path }) => path)
  const more = files.length > named.length ? ` and ${files.length - named.length} more` : ''
  return [`Its files (read_skill_file; run_skill_script, in a sandbox without network): ${named.join(', ')}${more}`]
}
