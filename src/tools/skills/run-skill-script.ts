import { z } from 'zod'
import { type Sandbox, type SandboxOutcome, SandboxUnavailable } from '../../sandbox/sandbox.ts'
import { cleanForeignText } from '../builtin/foreign-text.ts'
import { wrapOutput } from '../contract/run/wrap-output.ts'
import { defineTool, failed } from '../define-tool.ts'
import type { Tool, ToolOutcome } from '../tool.ts'
import { scriptCommand, skillDirectory } from './script-command.ts'
import { skillFilePath } from './skill-file-path.ts'
import type { OpenSkill, SkillFolders } from './skill-folders.ts'

const limits = {
  memoryBytes: 512 * 1024 ** 2,
  processes: 64,
  wallMs: 60_000,
  outputBytes: 1024 ** 2,
  scratchBytes: 64 * 1024 ** 2,
}
const environment = { PYTHONDONTWRITEBYTECODE: '1' }
const argument = z
  .string()
  .max(32_000)
  .refine((text) => !text.includes('\0'), 'It has a NUL.')

/**
 * A script of a skill, in the sandbox: without a network, with the skill's folder to read and /tmp to write. What runs is
 * the copy of what was looked at, and nothing of it is left afterwards.
 */
export function createRunSkillScript(dependencies: {
  folders: SkillFolders
  sandbox: Sandbox
  /** A folder with the files of the skill as it was opened, for as long as the work takes. */
  withCopy<T>(opened: Extract<OpenSkill, { ok: true }>, work: (directory: string) => Promise<T>): Promise<T>
}): Tool {
  const { folders, sandbox, withCopy } = dependencies
  return defineTool({
    name: 'run_skill_script',
    description: 'Run a script of a skill in a sandbox: no network, /tmp to write, the folder of the skill to read.',
    input: z.object({
      name: z.string().min(1).max(200),
      path: z.string().min(1).max(1_000),
      args: z.array(argument).max(64).optional(),
      stdin: z.string().max(1_000_000).optional(),
    }),
    effect: 'idempotent',
    async run({ name, path, args = [], stdin = '' }, { signal }): Promise<ToolOutcome> {
      const opened = await folders.open(name)
      if (!opened.ok) return failed(opened.problem)
      const file = opened.folder.files.find((one) => one.path === skillFilePath(path))
      if (!file) return failed(`${name} has no file ${JSON.stringify(path)}.`)
      const command = scriptCommand(file)
      if (!command) return failed(`${file.path} is no script: it ends in .py, .sh or .js, or may be executed.`)
      const [program, ...given] = command
      try {
        const missing = program.startsWith('/') ? [] : await sandbox.missingPrograms([program])
        if (missing.length > 0) return failed(`${file.path} needs ${program}, which this machine does not have.`)
        const outcome = await withCopy(opened, (directory) =>
          sandbox.run({
            argv: [program, ...given, ...args],
            environment,
            workingDirectory: skillDirectory,
            stdin: new TextEncoder().encode(stdin),
            mounts: [{ source: directory, target: skillDirectory }],
            isWritable: true,
            network: { kind: 'none' },
            limits,
            signal,
          }),
        )
        return toOutcome(`${name}/${file.path}`, outcome)
      } catch (cause) {
        if (!(cause instanceof SandboxUnavailable)) throw cause
        return failed(cause.fix ? `${cause.message}. To change that: ${cause.fix}` : cause.message)
      }
    },
  })
}

function toOutcome(name: string, { end, stdout, stderr, driver }: SandboxOutcome): ToolOutcome {
  const isError = end.kind !== 'exited' || end.code !== 0
  const said = cleanForeignText(new TextDecoder().decode(stdout)).trim()
  const complained = cleanForeignText(new TextDecoder().decode(stderr)).trim()
  // The reason of a failure stands at the end of what was complained of.
  const parts = isError ? [complained.slice(-1_500), said] : [said, complained]
  const text = parts.filter((part) => part !== '').join('\n')
  return {
    text: `${endOf(end)}\n${wrapOutput(name, text === '' ? 'It printed nothing.' : text)}`,
    isError,
    ...(end.kind === 'timed_out' && { timedOut: true }),
    ran: { driver, budgetRemaining: null },
  }
}

function endOf(end: SandboxOutcome['end']): string {
  switch (end.kind) {
    case 'exited':
      return end.code === 0 ? 'It ended well.' : `It failed with exit code ${end.code}.`
    case 'killed':
      return `It was ended by ${end.signal}.`
    case 'timed_out':
      return `It took longer than ${limits.wallMs / 1_000} s and was ended.`
    case 'out_of_memory':
      return 'It ran out of memory.'
    case 'output_too_large':
      return 'It printed more than 1 MB and was ended.'
  }
}
