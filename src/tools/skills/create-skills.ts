import { join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { estimateTokens } from '../../base/tokens.ts'
import type { WatchFolder } from '../../memory/files/watch-folder.ts'
import type { SystemBlock } from '../../models/model.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { ownersWord } from '../../skills/skill-approval.ts'
import { skillLines } from '../../skills/skill-lines.ts'
import type { Database } from '../../storage/database.ts'
import { keptKey } from '../contract/folder/kept-key.ts'
import { createToolStates } from '../contract/tool-states.ts'
import { createSourceStore } from '../packages/source-store.ts'
import { importedFolder } from './find-skill-folders.ts'
import { createLoadSkill } from './load-skill.ts'
import type { LoadedSkill, SkillEntry } from './load-skill-folder.ts'
import { createReadSkillFile } from './read-skill-file.ts'
import { createRunSkillScript } from './run-skill-script.ts'
import { createSkillFolders } from './skill-folders.ts'
import type { SkillDetails, SkillSummary, Skills } from './skills.ts'

const mostAlwaysTokens = 6_000

/** Skills from the disk to the prompt, the tools and the catalog. */
export function createSkills(dependencies: {
  /** The folder of skills in the workspace. */
  directory: string
  /** Further folders that the owner's configuration names; asked for again with every reload. */
  directories(): readonly string[]
  /** A folder of this program alone, for copies of what runs. */
  cacheDirectory: string
  /** The switch that stops every tool: there are no skills in the prompt either. */
  isEnabled(): boolean
  sandbox: Sandbox
  database: Database
  clock: Clock
  logger: Logger
  watch?: WatchFolder
}): Skills {
  const { directory, directories, isEnabled, sandbox, database, clock, logger } = dependencies
  const listeners = new Set<() => void>()
  const folders = createSkillFolders({
    roots: () => [
      { path: directory, origin: 'workspace' },
      { path: join(directory, importedFolder), origin: 'imported' },
      ...directories().map((path) => ({ path, origin: 'directory' as const })),
    ],
    states: createToolStates({ database, clock }),
    onChange: changed,
    clock,
    logger,
    watch: dependencies.watch,
  })
  const sources = createSourceStore({ directory: join(dependencies.cacheDirectory, 'skills') })
  const inUse = new Map<string, number>()
  let pruning: Promise<void> = Promise.resolve()
  let prompt: { lines: string | undefined; always: SystemBlock[] } | undefined

  function changed(): void {
    prompt = undefined
    prune()
    for (const listener of [...listeners]) listener()
  }

  function prune(): void {
    pruning = pruning
      .then(() => sources.prune((key) => inUse.has(key)))
      .catch((error) => logger.warn('old copies of skills could not be removed', { error }))
  }

  function usable(): LoadedSkill[] {
    return folders
      .all()
      .filter((entry) => entry.kind === 'skill')
      .filter((entry) => folders.whyOff(entry) === undefined)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  function promptNow() {
    if (prompt) return prompt
    const skills = usable()
    const always = alwaysBlocks(skills)
    const shown = new Set(always.map(({ name }) => name))
    const rest = skills.filter(({ name }) => !shown.has(blockName(name)))
    prompt = { lines: skillLines(rest.map(({ skill }) => skill)), always }
    return prompt
  }

  function requireEntry(name: string): SkillEntry {
    const entry = folders.find(name)
    if (!entry) throw new FamiliarError('not_found', `There is no skill named ${name}.`)
    return entry
  }

  function statusOf(entry: SkillEntry): Pick<SkillSummary, 'status' | 'problem'> {
    if (entry.kind === 'wrong') return { status: 'error', problem: entry.problem }
    const why = folders.whyOff(entry)
    return why === undefined ? { status: 'on', problem: null } : { status: 'off', problem: why }
  }

  function summaryOf(entry: SkillEntry): SkillSummary {
    const { name, origin } = entry
    const { description, isAlways } = entry.kind === 'skill' ? entry.skill : { description: '', isAlways: false }
    return { name, description, origin, ...statusOf(entry), isAlways }
  }

  function detailsOf(entry: SkillEntry): SkillDetails {
    const { directory } = entry
    const summary = summaryOf(entry)
    const nothing = { license: null, compatibility: null, instructions: '', files: [], notes: [], hash: '' }
    if (entry.kind === 'wrong') return { ...summary, directory, ...nothing }
    const { license, compatibility, instructions, notes } = entry.skill
    return { ...summary, directory, license, compatibility, instructions, files: entry.files, notes, hash: entry.hash }
  }

  return {
    reload: () => folders.reload(),
    list: () =>
      folders
        .all()
        .map(summaryOf)
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    show(name) {
      const entry = folders.find(name)
      return entry && detailsOf(entry)
    },
    async enable(name, seenHash) {
      const entry = requireEntry(name)
      if (entry.kind === 'wrong') throw new FamiliarError('conflict', `${name} is broken. ${entry.problem}`)
      if (seenHash !== undefined && seenHash !== entry.hash) {
        throw new FamiliarError('conflict', `${name} has changed meanwhile. Look at it again.`)
      }
      await folders.decide(name, ownersWord(entry))
    },
    async disable(name) {
      await folders.decide(requireEntry(name).name, { isEnabled: false })
    },
    lines: () => (isEnabled() ? promptNow().lines : undefined),
    alwaysOn: () => (isEnabled() ? promptNow().always : []),
    tools: [
      createLoadSkill(folders),
      createReadSkillFile(folders),
      createRunSkillScript({
        folders,
        sandbox,
        async withCopy({ entry, folder }, work) {
          const key = keptKey({ ...folder, name: entry.name })
          inUse.set(key, (inUse.get(key) ?? 0) + 1)
          try {
            await pruning
            return await work(
              await sources.keep(
                key,
                folder.files.map((file) => [file.path, file] as const),
              ),
            )
          } finally {
            const left = (inUse.get(key) ?? 1) - 1
            if (left > 0) inUse.set(key, left)
            else inUse.delete(key)
          }
        },
      }),
    ],
    onChange(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    settled: () => folders.settled(),
    async close() {
      listeners.clear()
      await folders.close()
      await pruning
    },
  }
}

/** In order of name, as many as fit: an always-on skill that does not stays in the index. */
function alwaysBlocks(skills: readonly LoadedSkill[]): SystemBlock[] {
  const blocks: SystemBlock[] = []
  let tokens = 0
  for (const { name, skill } of skills) {
    if (!skill.isAlways) continue
    const text = `<skill name="${name}">\n${skill.instructions}\n</skill>`
    const size = estimateTokens(text)
    if (tokens + size > mostAlwaysTokens) continue
    tokens += size
    blocks.push({ name: blockName(name), tier: 'semi_stable', text })
  }
  return blocks
}

function blockName(name: string): string {
  return `skill:${name}`
}
