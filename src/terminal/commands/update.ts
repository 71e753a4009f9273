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
  runTool,
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

type Changeable = Extract<Installation, { kind: 'clone' | 'global' }>

const { version } = packageFile

/** Brings another version, or says why it cannot. The only command that fetches a program: the user asked for it. */
export const update: CommandHandler<UpdateInput> = async (context, input) => {
  const { output } = context
  if (input.rollback && (input.check || input.to !== undefined)) {
    throw usageError('--rollback goes back to the version before; it takes neither --check nor --to.')
  }
  const installation = findInstallation()
  if (installation.kind === 'npx' || installation.kind === 'package') throw cannotChange(installation)
  await requireHome(context)
  const settled = await settleInterrupted(context, {
    version,
    changeFrom: (versions) =>
      installation.kind === 'global'
        ? globalChange(installation, versions)
        : cloneChange(context, { installation, ...versions }),
  })
  if (settled) output.note(settled)
  if (input.rollback) {
    const { json = false, yes = false } = input
    return rollBack(context, { installation, version, json, yes })
  }
  const found = await lookFor(context, installation, input)
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

async function lookFor(context: CommandContext, installation: Changeable, { to }: UpdateInput): Promise<Found> {
  const isVersion = to !== undefined && /^v?\d+\.\d+\.\d+(-[\w.]+)?$/.test(to)
  if (installation.kind === 'clone') {
    if (to !== undefined && !isVersion) throw usageError('A clone is updated to a version, not to a tarball.')
    const { count, target } = await lookForCommits(context, installation, to)
    const shown = to ?? `${count} new ${count === 1 ? 'commit' : 'commits'}`
    return { isNew: count > 0, shown, stage: () => stageClone(context, { installation, target, from: version }) }
  }
  const stage = (wanted: string) => () => stageGlobal(context, { installation, wanted, from: version })
  if (to !== undefined && !isVersion) {
    const path = resolve(to)
    if (!/\.(tgz|tar\.gz)$/.test(path) || !existsSync(path)) throw usageError(`There is no tarball ${path}.`)
    return { isNew: true, shown: path, stage: stage(path) }
  }
  // While this package is unpublished, its name in the registry may belong to someone else.
  if (packageFile.private) {
    throw new CommandError('This build is not published, so npm has no other version of it.', {
      code: 'unsupported',
      hint: 'familiar update --to PATH/familiar-VERSION.tgz',
    })
  }
  const wanted = to?.replace(/^v/, '') ?? (await newestPublished(context))
  return { isNew: wanted !== version, shown: wanted, stage: stage(`familiar@${wanted}`) }
}

async function newestPublished(context: CommandContext): Promise<string> {
  const asked = await runTool({
    argv: [await npmProgram(context), 'view', 'familiar', 'version', '--fetch-retries=1'],
    workingDirectory: '/',
    environment: fetchEnvironment(context.env),
    signal: context.signal,
  })
  if (asked.ok) return asked.text.trim()
  throw new CommandError(`npm could not say which version is the newest: ${asked.message}`)
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

const manifestSchema = z.object({ version: z.string() })

/** Fetches new commits from the origin of the clone. With `version`, the tag of that name. */
async function lookForCommits(context: CommandContext, { root, hasHistory }: Clone, version: string | undefined) {
  if (!hasHistory) throw new CommandError('This copy of the repository has no history, so nothing can be pulled.')
  const git = gitIn(context, root)
  await git(['fetch', '--tags', '--quiet'])
  const name = version === undefined ? '@{upstream}' : `refs/tags/v${version.replace(/^v/, '')}`
  const target = (await git(['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`])).trim()
  const count = Number((await git(['rev-list', '--count', `HEAD..${target}`])).trim())
  return { count, target }
}

/** The new commit in its own folder, where the launcher installs its dependencies. */
async function stageClone(
  context: CommandContext,
  {
    installation,
    target,
    from,
    isBack = false,
  }: { installation: Clone; target: string; from: string; isBack?: boolean },
): Promise<ProgramChange> {
  const { root } = installation
  const git = gitIn(context, root)
  const changed = (await git(['status', '--porcelain', '--untracked-files=no'])).trim()
  if (changed !== '') {
    throw new CommandError('Files of this clone were changed by hand.', {
      hint: 'git status; then commit or undo them.',
    })
  }
  await git(['merge-base', '--is-ancestor', ...(isBack ? [target, 'HEAD'] : ['HEAD', target])])
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
      await git(isBack ? ['reset', '--keep', '--quiet', target] : ['merge', '--ff-only', '--quiet', target])
    },
  }
}

/** The earlier commit, so that another process can undo an interrupted update. */
const rememberedHead = 'refs/familiar/before-update'

function cloneChange(
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
      // Keeps manual changes, and refuses if they would be lost.
      await git(['reset', '--keep', '--quiet', rememberedHead])
    },
    async keepOld() {
      return (await git(['rev-parse', rememberedHead])).trim()
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
    // Never prompts: the prompt would be invisible.
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

type Global = Extract<Installation, { kind: 'global' }>

const globalChangeManifestSchema = z.object({ name: z.literal('familiar'), version: z.string().regex(/^[\w.+-]+$/) })

/** Lets npm install another version with its dependencies into a folder next to this one. */
async function stageGlobal(
  context: CommandContext,
  { installation, wanted, from }: { installation: Global; wanted: string; from: string },
): Promise<ProgramChange> {
  const places = preparePlaces(installation)
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-progress', '--loglevel=error']
  const installed = await runTool({
    argv: [await npmProgram(context), 'install', '--global', '--prefix', places.staged, ...options, wanted],
    workingDirectory: places.work,
    environment: fetchEnvironment(context.env),
    signal: context.signal,
    wallMs: 600_000,
  })
  if (!installed.ok) throw new CommandError(`npm could not install ${wanted}: ${installed.message}`)
  const manifest = readManifest(places.fresh)
  if (!manifest) throw new CommandError(`${wanted} is not a version of Familiar. Nothing was changed.`)
  return globalChange(installation, { from, to: manifest.version })
}

/** A copy of the previous version, as the last update kept it. If this is interrupted, the kept one is still there. */
function stageKept(installation: Global, { from, to }: { from: string; to: string }): ProgramChange | undefined {
  const places = placesOf(installation)
  if (readManifest(places.kept)?.version !== to) return undefined
  preparePlaces(installation)
  cpSync(places.kept, places.fresh, { recursive: true, verbatimSymlinks: true })
  return globalChange(installation, { from, to })
}

function preparePlaces(installation: Global) {
  const places = placesOf(installation)
  try {
    rmSync(places.staged, { recursive: true, force: true })
    mkdirSync(places.work, { recursive: true })
    return places
  } catch (cause) {
    throw new CommandError(`${places.work} cannot be written.`, {
      code: 'forbidden',
      hint: `The user who installed Familiar into ${installation.prefix} has to update it there.`,
      cause,
    })
  }
}

/** The change between two versions side by side, also if an earlier update left them there. */
export function globalChange(installation: Global, { from, to }: { from: string; to: string }): ProgramChange {
  const places = placesOf(installation)
  return {
    from,
    to,
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

function readManifest(root: string): z.infer<typeof globalChangeManifestSchema> | undefined {
  return readJsonFile(join(root, 'package.json'), globalChangeManifestSchema)
}

async function npmProgram({ env }: Pick<CommandContext, 'env'>): Promise<string> {
  const npm = await findProgram([join(dirname(process.execPath), 'npm'), 'npm'], env.PATH ?? '')
  if (npm) return npm
  throw new CommandError('npm is needed for that, and there is none in PATH.', { hint: 'It comes with Node.' })
}

/**
 * Goes back to the version that the last update replaced. If the tables have changed since, the database from before that
 * update is put in place, and the present one is kept aside. Nothing is changed if either of them is missing.
 */
async function rollBack(
  context: CommandContext,
  { installation, version, json, yes }: { installation: Changeable; version: string; json: boolean; yes: boolean },
): Promise<ExitCode | undefined> {
  const { homePath: home, output } = context
  const record = recordFile.read(home)
  if (!record) throw nothingToGoBackTo(`no update by \`familiar update\` is on record in ${home}`)
  const database = databaseOfBefore(context, record)
  if (!yes && !(await confirm(context, question(record, { version, database })))) {
    const value = { ok: false, from: version, to: record.from, problem: 'not confirmed' }
    return output.report(json, value, 'Nothing was changed.')
  }
  const change = await stage(context, { installation, version, record })
  const outcome = await changeProgram(context, change, { database })
  const { ok, snapshot, startAgain } = outcome
  const { problem, replaced } = ok ? { problem: null, replaced: outcome.replaced } : { ...outcome, replaced: null }
  // The same database is kept next to the one in use.
  if (replaced && snapshot) await rm(snapshot, { force: true })
  if (ok && installation.kind === 'global') rmSync(placesOf(installation).kept, { recursive: true, force: true })
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

async function stage(
  context: CommandContext,
  { installation, version, record }: { installation: Changeable; version: string; record: UpdateRecord },
): Promise<ProgramChange> {
  const { output } = context
  if (installation.kind === 'global') {
    const kept = stageKept(installation, { from: version, to: record.from })
    if (!kept) throw nothingToGoBackTo(`the files of ${record.from} are gone`)
    return kept
  }
  if (record.commit === null || !installation.hasHistory) throw nothingToGoBackTo('this clone has no history of it')
  output.note(`Preparing ${record.from} (commit ${record.commit.slice(0, 12)}).`)
  return stageClone(context, { installation, target: record.commit, from: version, isBack: true })
}

function question(record: UpdateRecord, { version, database }: { version: string; database: string | null }): string {
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
async function settleInterrupted(
  context: CommandContext,
  { version, changeFrom }: { version: string; changeFrom(versions: { from: string; to: string }): ProgramChange },
): Promise<string | undefined> {
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
  const change = changeFrom({ from, to })
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
