import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import type { CommandContext } from '../command.ts'
import { CommandError } from '../command-error.ts'
import type { Installation } from './installation.ts'
import type { ProgramChange } from './program-change.ts'
import { fetchEnvironment, runTool } from './run-tool.ts'

type Clone = Extract<Installation, { kind: 'clone' }>

export interface CloneUpdate {
  /** How many commits there are to take. */
  count: number
  target: string
}

const manifestSchema = z.object({ version: z.string() })

/** Asks where the clone came from what is new. With `version` it is the tag of that name. */
export async function lookForCommits(
  context: CommandContext,
  { root, hasHistory }: Clone,
  version: string | undefined,
): Promise<CloneUpdate> {
  if (!hasHistory) throw new CommandError('This copy of the repository has no history, so nothing can be pulled.')
  const git = gitIn(context, root)
  await git(['fetch', '--tags', '--quiet'])
  const name = version === undefined ? '@{upstream}' : `refs/tags/v${version.replace(/^v/, '')}`
  const target = (await git(['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`])).trim()
  const count = Number((await git(['rev-list', '--count', `HEAD..${target}`])).trim())
  return { count, target }
}

/** The new commit in a folder of its own, where the launcher brings what it depends on. */
export async function stageClone(
  context: CommandContext,
  { installation, target, from }: { installation: Clone; target: string; from: string },
): Promise<ProgramChange> {
  const { root } = installation
  const git = gitIn(context, root)
  const changed = (await git(['status', '--porcelain', '--untracked-files=no'])).trim()
  if (changed !== '') {
    throw new CommandError('Files of this clone were changed by hand.', {
      hint: 'git status; then commit or undo them.',
    })
  }
  await git(['merge-base', '--is-ancestor', 'HEAD', target])
  const change = cloneChange(context, { installation, from, to: '' })
  await change.finish()
  await git(['worktree', 'add', '--detach', '--quiet', workFolder(root), target])
  const manifest = parseJson(readFileSync(join(workFolder(root), 'package.json'), 'utf8'), manifestSchema)
  if (!manifest.ok) throw new CommandError(`The new commit is not a Familiar: ${manifest.message}`)
  const head = (await git(['rev-parse', 'HEAD'])).trim()
  await git(['update-ref', rememberedHead, head])
  return {
    ...change,
    to: manifest.value.version,
    async apply() {
      await git(['merge', '--ff-only', '--quiet', target])
    },
  }
}

/** Where the clone stood before, so that an interrupted update can be undone by another process. */
const rememberedHead = 'refs/familiar/before-update'

export function cloneChange(
  context: CommandContext,
  { installation, from, to }: { installation: Clone; from: string; to: string },
): ProgramChange {
  const { root, command } = installation
  const git = gitIn(context, root)
  return {
    from,
    to,
    triedCommand: join(workFolder(root), 'bin', 'familiar'),
    command,
    apply: async () => undefined,
    async undo() {
      // Keeps what was changed by hand, and refuses where that would be lost.
      await git(['reset', '--keep', '--quiet', rememberedHead])
    },
    async finish() {
      const known = await git(['worktree', 'list', '--porcelain'])
      if (known.includes(workFolder(root))) await git(['worktree', 'remove', '--force', workFolder(root)])
      await git(['update-ref', '-d', rememberedHead])
    },
  }
}

function workFolder(root: string): string {
  return join(root, '.runtime', 'update')
}

function gitIn({ env, signal }: CommandContext, root: string): (words: readonly string[]) => Promise<string> {
  return async (words) => {
    // Never at a prompt of its own: nobody would see it.
    const environment = { ...fetchEnvironment(env), GIT_TERMINAL_PROMPT: '0' }
    const answer = await runTool({
      argv: ['git', ...words],
      workingDirectory: root,
      environment,
      signal,
      wallMs: 300_000,
    })
    if (answer.ok) return answer.text
    throw new CommandError(`git ${words[0]}: ${answer.message}`)
  }
}
