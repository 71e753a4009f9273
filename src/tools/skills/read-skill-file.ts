import { z } from 'zod'
import { decodeText } from '../../memory/files/decode-text.ts'
import { cleanForeignText, pageOf } from '../builtin/foreign-text.ts'
import { defineTool, failed, succeeded } from '../define-tool.ts'
import type { Tool, ToolOutcome } from '../tool.ts'
import { skillFilePath } from './skill-file-path.ts'
import type { SkillFolders } from './skill-folders.ts'

const longestPage = 20_000
const mostListed = 200

/** A file that a skill brings. It is looked for among the files that were read, so no path leads anywhere else (SEC-11). */
export function createReadSkillFile(folders: SkillFolders): Tool {
  return defineTool({
    name: 'read_skill_file',
    description: 'A file of a skill. Without a path: which there are.',
    input: z.object({
      name: z.string().min(1).max(200),
      path: z.string().max(1_000).optional(),
      offset: z.number().int().min(0).optional(),
    }),
    effect: 'idempotent',
    async run({ name, path = '', offset = 0 }): Promise<ToolOutcome> {
      const opened = await folders.open(name)
      if (!opened.ok) return failed(opened.problem)
      const { entry, folder } = opened
      const wanted = skillFilePath(path)
      const file = folder.files.find((one) => one.path === wanted)
      if (!file) {
        const inside = folder.files.filter((one) => wanted === '.' || one.path.startsWith(`${wanted}/`))
        if (inside.length === 0) return failed(`${name} has no file ${JSON.stringify(path)}.`)
        const lines = inside.slice(0, mostListed).map((one) => `${one.path} (${one.bytes.length} bytes)`)
        return succeeded([...lines, ...moreOf(inside.length - lines.length)].join('\n'))
      }
      const decoded = decodeText(file.bytes)
      if (!decoded.ok) return failed(`${file.path} is no text: ${file.bytes.length} bytes.`)
      const text = pageOf(cleanForeignText(decoded.text), offset, longestPage)
      // What lies in the workspace beside the instructions is the user's own.
      return entry.origin === 'workspace' ? { ...succeeded(text), isPrivate: true } : succeeded(text)
    },
  })
}

function moreOf(count: number): string[] {
  return count > 0 ? [`… and ${count} more`] : []
}
