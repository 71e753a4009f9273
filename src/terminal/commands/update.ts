import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { z } from 'zod'
import packageFile from '../../../package.json' with { type: 'json' }
import { parseJson } from '../../base/json.ts'
import { findProgram } from '../../base/processes.ts'
import { formatTime } from '../../base/text.ts'
import { isSameProcess } from '../../daemon/daemon-lock.ts'
import {
  type CommandContext,
  CommandError,
  type CommandHandler,
  confirm,
  type ExitCode,
  exitCodes,
  usageError,
} from '../command.ts'
import { requireHome } from '../local-home.ts'
import { databaseUrlOf } from '../open-beside.ts'
import {
  answersStatus,
  changeProgram,
  complete,
  fetchEnvironment,
  findInstallation,
  goBack,
  type Installation,
  journalFile,
  newestMigration,
  type ProgramChange,
  readJsonFile,
  recordFile,
  replaceDatabase,
  runUpdateTool,
  settle,
  type UpdateRecord,
  workFolderName,
} from './update-program.ts'

interface UpdateInput {
  check?: boolean
  to?: string
  rollback?: boolean
  yes?: boolean
  json?: boolean
}

const { version } = packageFile

type Versions = Pick<ProgramChange, 'from' | 'to'>

/** How one kind of installation is changed. */
interface Program {
  lookFor(to: string | undefined): Promise<Found>
  /** The change between two versions, also if an earlier update left it unfinished. */
  change(versions: Versions): ProgramChange
  /** The version before, ready to take the place of this one. */
  stageBack(record: UpdateRecord): Promise<ProgramChange>
  /** After a way back: removes the kept files. */
  forgetKept(): void
}

/** Brings another version, or says why it cannot. The only command that fetches a program: the user asked for it. */
export const update: CommandHandler<UpdateInput> = async (context, input) => {
  const { output } = context
  if (input.rollback && (input.check || input.to !== undefined)) {
    throw usageError('--rollback goes back to the version before; it takes neither --check nor --to.')
  }
  const installation = findInstallation()
  if (installation.kind === 'npx' || installation.kind === 'package') throw cannotChange(installation)
  await requireHome(context)
  const program =
    installation.kind === 'clone' ? cloneProgram(context, installation) : globalProgram(context, installation)
  const settled = await settleInterrupted(context, program)
  if (settled) output.note(settled)
  if (input.rollback) return rollBack(context, program, input)
  const found = await program.lookFor(input.to)
  if (input.check || !found.isNew) {
    const { isNew: is_new, shown: available } = found
    const text = is_new ? `There is ${available}; this is ${version}.` : `This is ${version}, the newest there is.`
    return output.report(input.json, { version, installation: installation.kind, available, is_new }, text)
  }
  output.note(`Installing ${found.shown} beside ${version}.`)
  const change = await found.stage()
  return report(context, change, input.json === true)
}

interface Found {
  isNew: boolean
  /** The available version, for the user. */
  shown: string
  stage(): Promise<ProgramChange>
}

function isVersion(text: string): boolean {
  return /^v?\d+\.\d+\.\d+(-[\w.]+)?$/.test(text)
}

async function report(context: CommandContext, change: ProgramChange, json: boolean): Promise<ExitCode> {
  const { output } = context
  const { from, to } = change
  const outcome = await changeProgram(context, change)
  const { ok, snapshot, startAgain } = outcome
  const { problem, keptAside } = ok ? { problem: null, keptAside: null } : outcome
  const value = { ok, from, to, snapshot, problem, kept_aside: keptAside, start_again: startAgain }
  output.report(json, value, () => {
    output.print(ok ? `Familiar ${to} is installed. It replaces ${from}.` : describeFailure(change, problem))
    if (snapshot) output.print(`Backup of the database: ${snapshot}`)
    if (ok) output.print(`To go back: ${context.output.commandLine('update --rollback')}`)
    if (keptAside) output.print(`The database as ${to} left it: ${keptAside}`)
    if (startAgain) output.print(howToStartAgain(context))
  })
  return ok ? exitCodes.fine : exitCodes.failed
}

function describeFailure({ from, to }: ProgramChange, problem: string | null): string {
  return `Familiar ${from} stays in use: ${to} failed its check (${problem}).`
}

function howToStartAgain(context: CommandContext): string {
  return `The daemon was stopped. To start it again: ${context.output.commandLine('serve')}`
}

function cannotChange({ kind, root }: Installation): CommandError {
  const withNpx = 'npx takes the version that it is given: npx familiar@VERSION, or npx --package=TARBALL familiar'
  return new CommandError(`${root} cannot be updated by Familiar.`, {
    code: 'unsupported',
    hint: kind === 'npx' ? withNpx : 'Update it with the package manager that installed it.',
  })
}

type Clone = Extract<Installation, { kind: 'clone' }>

/** The earlier commit, so that another process can undo an interrupted update. */
const rememberedHead = 'refs/familiar/before-update'

function cloneProgram({ env, signal, output }: CommandContext, { root, command, hasHistory }: Clone): Program {
  const work = join(root, '.runtime', 'update')

  async function git(...words: string[]): Promise<string> {
    // Never prompts: the prompt would be invisible.
    const environment = { ...fetchEnvironment(env), GIT_TERMINAL_PROMPT: '0' }
    const argv: [string, ...string[]] = ['git', ...words]
    const answer = await runUpdateTool({ argv, workingDirectory: root, environment, signal, wallMs: 300_000 })
    if (answer.ok) return answer.text.trim()
    throw new CommandError(`git ${words[0]}: ${answer.message}`)
  }

  /** The commit in its own folder, where the launcher installs its dependencies. */
  async function stage(target: string, isBack: boolean): Promise<ProgramChange> {
    if ((await git('status', '--porcelain', '--untracked-files=no')) !== '') {
      throw new CommandError('Files of this clone were changed by hand.', {
        hint: 'git status; then commit or undo them.',
      })
    }
    await git('merge-base', '--is-ancestor', ...(isBack ? [target, 'HEAD'] : ['HEAD', target]))
    await change({ from: version, to: '' }).finish()
    await git('worktree', 'add', '--detach', '--quiet', work, target)
    const manifest = parseJson(readFileSync(join(work, 'package.json'), 'utf8'), z.object({ version: z.string() }))
    if (!manifest.ok) throw new CommandError(`The new commit is not a Familiar: ${manifest.message}`)
    await git('update-ref', rememberedHead, await git('rev-parse', 'HEAD'))
    return {
      ...change({ from: version, to: manifest.value.version }),
      async apply() {
        await (isBack ? git('reset', '--keep', '--quiet', target) : git('merge', '--ff-only', '--quiet', target))
      },
    }
  }

  function change(versions: Versions): ProgramChange {
    return {
      ...versions,
      triedCommand: join(work, 'bin', 'familiar'),
      command,
      apply: async () => undefined,
      async undo() {
        // Keeps manual changes, and refuses if they would be lost.
        await git('reset', '--keep', '--quiet', rememberedHead)
      },
      keepOld: () => git('rev-parse', rememberedHead),
      async finish() {
        const known = await git('worktree', 'list', '--porcelain')
        if (known.includes(work)) await git('worktree', 'remove', '--force', work)
        await git('update-ref', '-d', rememberedHead)
      },
    }
  }

  return {
    /** Fetches new commits from the origin of the clone. With `to`, the tag of that name. */
    async lookFor(to) {
      if (to !== undefined && !isVersion(to)) throw usageError('A clone is updated to a version, not to a tarball.')
      if (!hasHistory) throw new CommandError('This copy of the repository has no history, so nothing can be pulled.')
      await git('fetch', '--tags', '--quiet')
      const name = to === undefined ? '@{upstream}' : `refs/tags/v${to.replace(/^v/, '')}`
      const target = await git('rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`)
      const count = Number(await git('rev-list', '--count', `HEAD..${target}`))
      const shown = to ?? `${count} new ${count === 1 ? 'commit' : 'commits'}`
      return { isNew: count > 0, shown, stage: () => stage(target, false) }
    },
    change,
    stageBack({ commit, from }) {
      if (commit === null || !hasHistory) throw nothingToGoBackTo('this clone has no history of it')
      output.note(`Preparing ${from} (commit ${commit.slice(0, 12)}).`)
      return stage(commit, true)
    },
    forgetKept: () => undefined,
  }
}

type Global = Extract<Installation, { kind: 'global' }>

const globalManifestSchema = z.object({ name: z.literal('familiar'), version: z.string().regex(/^[\w.+-]+$/) })

function globalProgram({ env, signal }: CommandContext, installation: Global): Program {
  const places = placesOf(installation)
  const versionIn = (root: string) => readJsonFile(join(root, 'package.json'), globalManifestSchema)?.version

  async function npm(words: string[], limits: { workingDirectory: string; wallMs?: number }) {
    const program = await findProgram([join(dirname(process.execPath), 'npm'), 'npm'], env.PATH ?? '')
    if (program)
      return runUpdateTool({ argv: [program, ...words], environment: fetchEnvironment(env), signal, ...limits })
    throw new CommandError('npm is needed for that, and there is none in PATH.', { hint: 'It comes with Node.' })
  }

  async function newestPublished(): Promise<string> {
    const asked = await npm(['view', 'familiar', 'version', '--fetch-retries=1'], { workingDirectory: '/' })
    if (asked.ok) return asked.text.trim()
    throw new CommandError(`npm could not say which version is the newest: ${asked.message}`)
  }

  /** Lets npm install another version with its dependencies into a folder next to this one. */
  async function stage(wanted: string): Promise<ProgramChange> {
    preparePlaces(installation)
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-progress', '--loglevel=error']
    const words = ['install', '--global', '--prefix', places.staged, ...options, wanted]
    const installed = await npm(words, { workingDirectory: places.work, wallMs: 600_000 })
    if (!installed.ok) throw new CommandError(`npm could not install ${wanted}: ${installed.message}`)
    const to = versionIn(places.fresh)
    if (to === undefined) throw new CommandError(`${wanted} is not a version of Familiar. Nothing was changed.`)
    return globalChange(installation, { from: version, to })
  }

  return {
    async lookFor(to) {
      if (to !== undefined && !isVersion(to)) {
        const path = resolve(to)
        if (!/\.(tgz|tar\.gz)$/.test(path) || !existsSync(path)) throw usageError(`There is no tarball ${path}.`)
        return { isNew: true, shown: path, stage: () => stage(path) }
      }
      // While this package is unpublished, its name in the registry may belong to someone else.
      if (packageFile.private) {
        throw new CommandError('This build is not published, so npm has no other version of it.', {
          code: 'unsupported',
          hint: 'familiar update --to PATH/familiar-VERSION.tgz',
        })
      }
      const wanted = to?.replace(/^v/, '') ?? (await newestPublished())
      return { isNew: wanted !== version, shown: wanted, stage: () => stage(`familiar@${wanted}`) }
    },
    change: (versions) => globalChange(installation, versions),
    /** A copy of what the last update kept. If this is interrupted, the kept one is still there. */
    async stageBack({ from: to }) {
      if (versionIn(places.kept) !== to) throw nothingToGoBackTo(`the files of ${to} are gone`)
      preparePlaces(installation)
      cpSync(places.kept, places.fresh, { recursive: true, verbatimSymlinks: true })
      return globalChange(installation, { from: version, to })
    },
    forgetKept: () => rmSync(places.kept, { recursive: true, force: true }),
  }
}

function preparePlaces(installation: Global): void {
  const places = placesOf(installation)
  try {
    rmSync(places.staged, { recursive: true, force: true })
    mkdirSync(places.work, { recursive: true })
  } catch (cause) {
    throw new CommandError(`${places.work} cannot be written.`, {
      code: 'forbidden',
      hint: `The user who installed Familiar into ${installation.prefix} has to update it there.`,
      cause,
    })
  }
}

/** The change between two versions side by side, also if an earlier update left them there. */
export function globalChange(installation: Global, versions: Versions): ProgramChange {
  const places = placesOf(installation)
  return {
    ...versions,
    triedCommand: join(places.fresh, 'bin', 'familiar'),
    command: join(installation.root, 'bin', 'familiar'),
    async apply() {
      rmSync(places.old, { recursive: true, force: true })
      // Between the two renames there is no program in its place. If it ends there, the bridge restores it.
      writeFileSync(places.bridge, bridgeText(installation.root, places.old), { mode: 0o755 })
      pointLink(installation.command, places.bridge)
      renameSync(installation.root, places.old)
      renameSync(places.fresh, installation.root)
    },
    async undo() {
      if (!existsSync(places.old)) return
      rmSync(places.fresh, { recursive: true, force: true })
      mkdirSync(dirname(places.fresh), { recursive: true })
      if (existsSync(installation.root)) renameSync(installation.root, places.fresh)
      renameSync(places.old, installation.root)
    },
    async keepOld() {
      if (!existsSync(places.old)) return null
      rmSync(places.kept, { recursive: true, force: true })
      // The copy would look for it in the old place.
      pointLink(installation.command, join(installation.root, 'bin', 'familiar'))
      renameSync(places.old, places.kept)
      return null
    },
    async finish() {
      pointLink(installation.command, join(installation.root, 'bin', 'familiar'))
      rmSync(places.work, { recursive: true, force: true })
    },
  }
}

function placesOf({ root }: Global) {
  const work = join(dirname(root), workFolderName)
  const staged = join(work, 'new')
  return {
    work,
    staged,
    fresh: join(staged, 'lib', 'node_modules', 'familiar'),
    old: join(work, 'old'),
    kept: join(dirname(root), '.familiar-before'),
    bridge: join(work, 'familiar.cjs'),
  }
}

function bridgeText(root: string, old: string): string {
  return `#!/usr/bin/env node
'use strict'
// Replaces the program while "familiar update" changes it, and repairs a change that was interrupted.
const fs = require('fs')
const root = ${JSON.stringify(root)}
const old = ${JSON.stringify(old)}
if (!fs.existsSync(root) && fs.existsSync(old)) fs.renameSync(old, root)
require(root + '/bin/familiar')
`
}

/** Replaces a link in one step. */
function pointLink(link: string, target: string): void {
  const wanted = relative(dirname(link), target)
  const temporary = `${link}.familiar-update`
  rmSync(temporary, { force: true })
  symlinkSync(wanted, temporary)
  if (lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() === false) {
    rmSync(temporary)
    return
  }
  renameSync(temporary, link)
}

/**
 * Goes back to the version that the last update replaced. If the tables have changed since, the database from before that
 * update is put in place, and the present one is kept aside. Nothing is changed if either of them is missing.
 */
async function rollBack(
  context: CommandContext,
  program: Program,
  { json, yes }: UpdateInput,
): Promise<ExitCode | undefined> {
  const { homePath: home, output } = context
  const record = recordFile.read(home)
  if (!record) throw nothingToGoBackTo(`no update by \`familiar update\` is on record in ${home}`)
  const database = databaseOfBefore(context, record)
  if (!yes && !(await confirm(context, question(record, database)))) {
    const value = { ok: false, from: version, to: record.from, problem: 'not confirmed' }
    return output.report(json, value, 'Nothing was changed.')
  }
  const change = await program.stageBack(record)
  const outcome = await changeProgram(context, change, { database })
  const { ok, snapshot, startAgain } = outcome
  const { problem, replaced } = ok ? { problem: null, replaced: outcome.replaced } : { ...outcome, replaced: null }
  // The same database is kept next to the one in use.
  if (replaced && snapshot) await rm(snapshot, { force: true })
  if (ok) program.forgetKept()
  const { from, to } = change
  output.report(json, { ok, from, to, problem, kept_aside: replaced, start_again: startAgain }, () => {
    output.print(ok ? `Familiar ${to} is back in place of ${from}.` : describeFailure(change, problem))
    if (replaced) output.print(`The database of ${from} is kept: ${replaced}`)
    if (startAgain) output.print(howToStartAgain(context))
  })
  return ok ? exitCodes.fine : exitCodes.failed
}

/** Null if the older version can use the present database. */
function databaseOfBefore(context: CommandContext, { schema, snapshot, from }: UpdateRecord): string | null {
  if (schema === newestMigration) return null
  if (databaseUrlOf(context) !== null) {
    throw new CommandError(`${from} cannot read the PostgreSQL database: its tables have changed since.`, {
      code: 'unsupported',
      hint: `Restore a backup of the server from before the update, then install ${from}. Nothing was changed.`,
    })
  }
  if (snapshot !== null && existsSync(snapshot)) return snapshot
  const what = snapshot === null ? 'there was no database before the update' : `${snapshot} is gone`
  throw nothingToGoBackTo(`${from} cannot read the present database, and ${what}`)
}

function question(record: UpdateRecord, database: string | null): string {
  const going = `Go back from ${version} to ${record.from}, which was replaced on ${formatTime(record.at)}?`
  if (database === null) return `${going} The database stays as it is.`
  const instead = `The database of that time (${database}) is put in place.`
  return `${going} ${instead} The present one is kept aside; what came in since then is only in there.`
}

function nothingToGoBackTo(why: string): CommandError {
  return new CommandError(`There is nothing to go back to: ${why}.`, {
    code: 'not_found',
    hint: 'Nothing was changed. To install a given version: familiar update --to VERSION',
  })
}

/**
 * Finishes an update that was interrupted: forward if the new version is in place and healthy, otherwise back. Returns a
 * description, or undefined if there was no such update.
 */
async function settleInterrupted(context: CommandContext, program: Program): Promise<string | undefined> {
  const { homePath: home, env, signal } = context
  const journal = journalFile.read(home)
  if (!journal) return undefined
  const { from, to, phase, snapshot } = journal
  if (isSameProcess(journal.pid, journal.identity)) {
    throw new CommandError(`Process ${journal.pid} is updating Familiar.`, {
      code: 'locked',
      hint: 'Wait until it has finished.',
    })
  }
  const change = program.change({ from, to })
  const isChanged = version === to && to !== from
  const isHealthy = async () => (await answersStatus({ command: change.command, home, env, signal }, version)).ok
  let healthy = phase === 'changing' && (await isHealthy())
  // An older version is in place without its database: only a newer one could go back from here.
  if (phase === 'changing' && !healthy && isChanged && journal.database) {
    await replaceDatabase(context, journal.database)
    healthy = await isHealthy()
  }
  if (phase !== 'trying' && !healthy) {
    await goBack(context, change, { snapshot, keepsNewer: journal.database === null })
  }
  await (healthy && isChanged ? complete(home, change, journal) : settle(home, change))
  if (phase === 'trying') return `The update to ${to} was cut off before it changed anything.`
  return healthy && isChanged
    ? `The update to ${to}, which was cut off, is complete.`
    : `The update to ${to}, which was cut off, was undone.`
}
