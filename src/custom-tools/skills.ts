import { join, posix } from 'node:path'
import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { estimateTokens } from '../base/tokens.ts'
import { decodeIndexedFile } from '../memory/files/index-files.ts'
import type { WatchFolder } from '../memory/files/watch-files.ts'
import type { SystemBlock } from '../models/model.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { SkillDetails, SkillSummary } from '../protocol/tools.ts'
import type { Sandbox, SandboxMount, SandboxOutcome } from '../sandbox/sandbox.ts'
import type { Database } from '../storage/database.ts'
import type { PackagesOf } from '../tools/builtin/outside-tools.ts'
import { missingInRun, runEnvironment } from '../tools/builtin/run-hints.ts'
import { cleanForeignText, pageOf } from '../tools/documents/foreign-text.ts'
import type { Workbench } from '../tools/files/workbench.ts'
import { approvedSkill, findSkills, skillLines } from '../tools/skills.ts'
import { defineTool, failed, succeeded, type Tool, type ToolOutcome } from '../tools/tool.ts'
import { describeRefusal } from './execute.ts'
import { wrapOutput } from './output.ts'
import {
  createSkillFolders,
  importedFolder,
  type LoadedSkill,
  type OpenSkill,
  type SkillEntry,
  type SkillFolders,
} from './skill-folders.ts'
import { createSourceStore } from './stored-files.ts'
import { createToolStates } from './tool-approval.ts'
import { type FolderFile, keptKey } from './tool-folder.ts'

const maxAlwaysTokens = 6_000
const maxMounted = 10

type OpenedSkill = Extract<OpenSkill, { ok: true }>

export type Skills = ReturnType<typeof createSkills>

/** Skills of this home, for all its users (SKILL-1). An unknown name is undefined or `not_found`. */
export function createSkills(dependencies: {
  directory: string
  /** Further folders that the owner's configuration names; asked for again with every reload. */
  directories(): readonly string[]
  /** A folder of this program alone, for copies of what runs. */
  cacheDirectory: string
  /** The switch that stops every tool: there are no skills in the prompt either. */
  isEnabled(): boolean
  sandbox: Pick<Sandbox, 'missingPrograms'>
  workbench: Pick<Workbench, 'run'>
  packagesOf: PackagesOf
  ownerId: string
  database: Database
  clock: Clock
  logger: Logger
  watch?: WatchFolder
}) {
  const { directory, directories, isEnabled, logger, ownerId } = dependencies
  const listeners = new Set<() => void>()
  const folders = createSkillFolders({
    ...dependencies,
    roots: () => [
      { path: directory, origin: 'workspace' },
      { path: join(directory, importedFolder), origin: 'imported' },
      ...directories().map((path) => ({ path, origin: 'directory' as const })),
    ],
    states: createToolStates(dependencies),
    onChange,
  })
  const sources = createSourceStore({ directory: join(dependencies.cacheDirectory, 'skills') })
  let pruning: Promise<void> = Promise.resolve()
  let prompt: { lines: string | undefined; always: SystemBlock[] } | undefined

  async function withCopy<T>({ entry, folder }: OpenedSkill, work: (directory: string) => Promise<T>): Promise<T> {
    const key = keptKey({ ...folder, name: entry.name })
    const files = folder.files.map(({ path, bytes, isExecutable }) => [path, bytes, isExecutable] as const)
    return await sources.hold(key, async () => {
      await pruning
      return await work(await sources.keep(key, files))
    })
  }

  function onChange(): void {
    prompt = undefined
    pruning = pruning
      .then(() => sources.prune(() => false))
      .catch((error) => logger.warn('old copies of skills could not be removed', { error }))
    for (const listener of [...listeners]) listener()
  }

  function promptNow() {
    if (prompt) return prompt
    const skills = folders.usable()
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

  function detailsOf(entry: SkillEntry): SkillDetails {
    const { name, origin, directory } = entry
    if (entry.kind === 'wrong') {
      const nothing = { license: null, compatibility: null, instructions: '', files: [], notes: [], hash: '' }
      const { problem } = entry
      return { name, description: '', origin, status: 'error', problem, isAlways: false, directory, ...nothing }
    }
    const why = folders.whyOff(entry)
    const { skill, files, hash } = entry
    return {
      ...skill,
      name,
      origin,
      status: why === undefined ? 'on' : 'off',
      problem: why ?? null,
      directory,
      files,
      hash,
    }
  }

  return {
    /** Finds them, and follows their folders from then on. Again: looks once more, also at what was decided meanwhile. */
    reload: folders.reload,
    /** In order of name; one that is broken too, with its reason. */
    list: (): SkillSummary[] =>
      folders
        .all()
        .map(detailsOf)
        .map(({ name, description, origin, status, problem, isAlways }) => {
          return { name, description, origin, status, problem, isAlways }
        })
        .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    show(name: string): SkillDetails | undefined {
      const entry = folders.find(name)
      return entry && detailsOf(entry)
    },
    /** Approves it as it is now. With the hash that was shown: only if it is still the same. */
    async enable(name: string, seenHash?: string): Promise<void> {
      const entry = requireEntry(name)
      if (entry.kind === 'wrong') throw new FamiliarError('conflict', `${name} is broken. ${entry.problem}`)
      if (seenHash !== undefined && seenHash !== entry.hash) {
        throw new FamiliarError('conflict', `${name} has changed meanwhile. Look at it again.`)
      }
      await folders.decide(name, approvedSkill(entry))
    },
    async disable(name: string): Promise<void> {
      await folders.decide(requireEntry(name).name, { isEnabled: false })
    },
    /** The index of those that are on, for the prompt; undefined where there is none. The same skills give the same bytes. */
    lines: (): string | undefined => (isEnabled() ? promptNow().lines : undefined),
    /** Those whose instructions are wanted in every prompt, as far as they fit. */
    alwaysOn: (): SystemBlock[] => (isEnabled() ? promptNow().always : []),
    tools: [
      createLoadSkill(folders),
      createReadSkillFile(folders),
      createRunSkillScript({ ...dependencies, folders, withCopy }),
    ] as readonly Tool[],
    /** Mounts the skills that a command names, as they were approved, while the work runs. */
    async withMounts<T>(
      { userId, command }: { userId: string; command: string },
      work: (mounts: readonly SandboxMount[]) => Promise<T>,
    ): Promise<T> {
      const named = new Set([...command.matchAll(/\/skills\/([a-z0-9_-]+)/g)].map(([, name = '']) => name))
      const names = userId === ownerId && isEnabled() ? [...named].slice(0, maxMounted) : []
      const mountNext = async (left: readonly string[], mounts: readonly SandboxMount[]): Promise<T> => {
        const [name, ...rest] = left
        if (name === undefined) return await work(mounts)
        const opened = await folders.open(name)
        if (!opened.ok) return await mountNext(rest, mounts)
        return await withCopy(opened, (source) => mountNext(rest, [...mounts, { source, target: `/skills/${name}` }]))
      }
      return await mountNext(names, [])
    },
    onChange(listener: () => void): () => void {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    settled: folders.settled,
    /** Before the sandbox and the database. */
    async close(): Promise<void> {
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
    if (tokens + size > maxAlwaysTokens) continue
    tokens += size
    blocks.push({ name: blockName(name), layer: 'semi_stable', text })
  }
  return blocks
}

function blockName(name: string): string {
  return `skill:${name}`
}

/** With the names of its files it stays below the limit of a tool's result (30,000), which would cut off its end. */
const maxPageLength = 24_000
const maxFileListLength = 4_000
const maxFilesNamed = 60

/** A skill's instructions, when the task is there that they are for. Words that are no name find the names that fit. */
function createLoadSkill(folders: SkillFolders): Tool {
  return defineTool({
    name: 'load_skill',
    description: 'Instructions of a skill, by its name; or find one by words.',
    input: z.object({ name: z.string().min(1).max(200), offset: z.number().optional() }),
    effect: 'idempotent',
    core: true,
    async run({ name, offset = 0 }) {
      const entry = folders.find(name.trim())
      if (entry?.kind === 'wrong') return failed(`${name} is broken. ${entry.problem}`)
      const why = entry && folders.whyOff(entry)
      if (why !== undefined) return failed(`${name} is off. ${why.replace(/^Off\. /, '')}`)
      if (entry) return loaded(entry, Math.max(0, Math.trunc(offset)))
      const skills = folders.usable().map(({ skill }) => skill)
      if (skills.length === 0) return failed('There are no skills.')
      const found = findSkills(skills, name)
      if (found.length === 0) return failed(`No skill has that name or fits these words. There are ${skills.length}.`)
      return { text: found.map((skill) => `- ${skill.name}: ${skill.description}`).join('\n'), isError: false }
    },
  })
}

function loaded({ name, skill, files }: LoadedSkill, offset: number) {
  const page = pageOf(skill.instructions, offset, maxPageLength)
  const text = [`<skill name="${name}">`, page, '</skill>', ...filesOf(name, files)]
  const foundTools = files.length === 0 ? [] : ['read_skill_file', 'run_skill_script']
  return { text: text.join('\n'), isError: false, foundTools }
}

function filesOf(name: string, files: LoadedSkill['files']): string[] {
  if (files.length === 0) return []
  const named: string[] = []
  let length = 0
  for (const { path } of files.slice(0, maxFilesNamed)) {
    length += path.length + 2
    if (length > maxFileListLength) break
    named.push(path)
  }
  const more = files.length > named.length ? ` and ${files.length - named.length} more` : ''
  return [
    `Its files (read_skill_file; run_skill_script, or /skills/${name} in exec, in a sandbox without network): ${named.join(', ')}${more}`,
  ]
}

/** A path in a SKILL.md, or as it is in the sandbox. A path that leaves the folder names nothing. */
function skillFilePath(written: string, skill: string): string {
  const path = posix.normalize(written.trim().replaceAll('\\', '/')).replace(/^\.\//, '').replace(/\/$/, '')
  const places = [skillDirectory, `/skills/${skill}`, '$SKILL_DIR', `\${SKILL_DIR}`]
  const place = places.find((one) => path.startsWith(`${one}/`))
  return place === undefined ? path : path.slice(place.length + 1)
}

/** Published instructions say FORMS.md where the file is forms.md, and name a script without its ending. */
function findSkillFile(files: readonly FolderFile[], wanted: string, endings: readonly string[] = []) {
  const exact = files.find(({ path }) => path === wanted)
  if (exact) return exact
  const names = [wanted, ...endings.map((ending) => `${wanted}.${ending}`)].map((name) => name.toLowerCase())
  const alike = files.filter(({ path }) => names.includes(path.toLowerCase()))
  return alike.length === 1 ? alike[0] : undefined
}

const skillFileLongestPage = 20_000
const maxListed = 200

/** A file that a skill brings. It is looked for among the files that were read, so no path leads anywhere else (SEC-11). */
function createReadSkillFile(folders: SkillFolders): Tool {
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
      const wanted = skillFilePath(path, name)
      const file = findSkillFile(folder.files, wanted)
      if (!file) {
        const inside = folder.files.filter((one) => wanted === '.' || one.path.startsWith(`${wanted}/`))
        if (inside.length === 0) return failed(`${name} has no file ${JSON.stringify(path)}.`)
        const lines = inside.slice(0, maxListed).map((one) => `${one.path} (${one.bytes.length} bytes)`)
        const more = inside.length - lines.length
        return succeeded([...lines, ...(more > 0 ? [`… and ${more} more`] : [])].join('\n'))
      }
      const decoded = decodeIndexedFile(file.bytes)
      if (!decoded.ok) return failed(`${file.path} is no text: ${file.bytes.length} bytes.`)
      const text = pageOf(cleanForeignText(decoded.text), offset, skillFileLongestPage)
      // Files in the workspace are the user's own.
      return entry.origin === 'workspace' ? { ...succeeded(text), isPrivate: true } : succeeded(text)
    },
  })
}

const skillDirectory = '/skill'

const programs: Record<string, readonly [string, ...string[]]> = {
  py: ['python3', '-u', '-B'],
  sh: ['bash'],
  bash: ['bash'],
  js: ['node'],
  mjs: ['node'],
  cjs: ['node'],
}

/**
 * The program that runs a file of a skill: by its extension, or the file itself if it is executable. Undefined for
 * other files.
 */
function scriptCommand({ path, isExecutable }: FolderFile): readonly [string, ...string[]] | undefined {
  const ending = /\.([a-z]+)$/.exec(path)?.[1]
  const program = ending !== undefined && Object.hasOwn(programs, ending) ? programs[ending] : undefined
  const inside = `${skillDirectory}/${path}`
  if (program) return [...program, inside]
  return isExecutable ? [inside] : undefined
}

const limits = {
  memoryBytes: 512 * 1024 ** 2,
  processes: 64,
  wallMs: 60_000,
  outputBytes: 1024 ** 2,
  scratchBytes: 64 * 1024 ** 2,
}
const environment = { ...runEnvironment, PYTHONDONTWRITEBYTECODE: '1', SKILL_DIR: skillDirectory }
const argument = z
  .string()
  .max(32_000)
  .refine((text) => !text.includes('\0'), 'It has a NUL.')

/**
 * Runs a script of a skill in the sandbox: without a network, on the user's files, with the skill's folder to read. The
 * copy that was checked runs.
 */
function createRunSkillScript(dependencies: {
  folders: SkillFolders
  sandbox: Pick<Sandbox, 'missingPrograms'>
  workbench: Pick<Workbench, 'run'>
  packagesOf: PackagesOf
  /** A folder with the files of the skill as it was opened, for as long as the work takes. */
  withCopy<T>(opened: OpenedSkill, work: (directory: string) => Promise<T>): Promise<T>
}): Tool {
  const { folders, sandbox, workbench, packagesOf, withCopy } = dependencies
  return defineTool({
    name: 'run_skill_script',
    description:
      'Run a script of a skill in a sandbox without network, in /workspace: the user’s files. Files written there are ' +
      'kept and shown to the user; /scratch keeps files for this conversation. The skill is in /skill.',
    input: z.object({
      name: z.string().min(1).max(200),
      path: z.string().min(1).max(1_000),
      args: z.array(argument).max(64).optional(),
      stdin: z.string().max(1_000_000).optional(),
      packages: z.array(z.string().max(200)).max(20).optional().describe('Python packages; npm:NAME for Node'),
    }),
    effect: 'at-most-once',
    reach: () => ({ kind: 'change', destination: null }),
    async run({ name, path, args = [], stdin = '', packages = [] }, context): Promise<ToolOutcome> {
      const opened = await folders.open(name)
      if (!opened.ok) return failed(opened.problem)
      const file = findSkillFile(opened.folder.files, skillFilePath(path, name), Object.keys(programs))
      if (!file) return failed(`${name} has no file ${JSON.stringify(path)}.`)
      const command = scriptCommand(file)
      if (!command) return failed(`${file.path} is no script: it ends in .py, .sh or .js, or may be executed.`)
      const [program, ...given] = command
      try {
        const missing = program.startsWith('/') ? [] : await sandbox.missingPrograms([program])
        if (missing.length > 0) return failed(`${file.path} needs ${program}, which this machine does not have.`)
        const wanted = [...new Set([...opened.entry.skill.packages, ...packages])]
        const ready = await packagesOf(wanted, context.signal)
        if (!ready.ok) return failed(ready.problem)
        const { outcome, notes, kept } = await withCopy(opened, (directory) => {
          // Under both names, because instructions name the files of a skill in either way.
          const places = [skillDirectory, `/skills/${opened.entry.name}`]
          const command = {
            argv: [program, ...given, ...args] as const,
            environment: { ...environment, ...ready.environment },
            stdin: new TextEncoder().encode(stdin),
            mounts: [...ready.mounts, ...places.map((target) => ({ source: directory, target }))],
            network: { kind: 'none' as const },
            limits,
          }
          return workbench.run(command, context)
        })
        const told = outcome ? toOutcome(`${name}/${file.path}`, outcome) : failed('It was stopped.')
        const all = [...(outcome ? missingInRun(outcome) : []), ...notes]
        return { ...told, ...kept, text: [told.text, ...all.map((note) => `[${note}]`)].join('\n') }
      } catch (cause) {
        return failed(describeRefusal(cause))
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
