import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import packageFile from '../../../package.json' with { type: 'json' }
import { openHome } from '../../daemon/home.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { CommandError, type ExitCode, exitCodes, usageError } from '../command-error.ts'
import { changeProgram } from './change-program.ts'
import { cloneChange, lookForCommits, stageClone } from './clone-change.ts'
import { globalChange, npmProgram, stageGlobal } from './global-change.ts'
import { findInstallation, type Installation } from './installation.ts'
import type { ProgramChange } from './program-change.ts'
import { fetchEnvironment, runTool } from './run-tool.ts'
import { settleInterrupted } from './settle-interrupted.ts'

interface UpdateInput {
  check?: boolean
  to?: string
  json?: boolean
}

type Changeable = Extract<Installation, { kind: 'clone' | 'global' }>

const { version } = packageFile

/** Brings another version, or says why it cannot. The only command that fetches a program: the user asked for it. */
export const update: CommandHandler<UpdateInput> = async (context, input) => {
  const { output } = context
  const installation = findInstallation()
  if (installation.kind === 'npx' || installation.kind === 'package') throw cannotChange(installation)
  const home = await openHome(context.homePath)
  if (!home.ok) throw new CommandError(home.message, { hint: home.hint })
  const settled = await settleInterrupted(context, {
    version,
    changeFrom: (versions) =>
      installation.kind === 'global'
        ? globalChange(installation, versions)
        : cloneChange(context, { installation, ...versions }),
  })
  if (settled) output.note(settled)
  const found = await lookFor(context, installation, input)
  if (input.check || !found.isNew) {
    if (input.json)
      output.printJson({ version, installation: installation.kind, available: found.shown, is_new: found.isNew })
    else
      output.print(
        found.isNew ? `There is ${found.shown}; this is ${version}.` : `This is ${version}, the newest there is.`,
      )
    return undefined
  }
  output.note(`Installing ${found.shown} beside ${version}.`)
  const change = await found.stage()
  return report(context, change, input.json === true)
}

interface Found {
  isNew: boolean
  /** What the user is told that there is. */
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
  // Whoever owns the name in a registry is not who made this, as long as it was never published.
  if (packageFile.private) {
    throw new CommandError('This Familiar was not published, so no registry has another version of it.', {
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
  const { snapshot, startAgain } = outcome
  const keptAside = outcome.ok ? null : outcome.keptAside
  const problem = outcome.ok ? null : outcome.problem
  const exitCode = outcome.ok ? exitCodes.fine : exitCodes.failed
  if (json) {
    output.printJson({ ok: outcome.ok, from, to, snapshot, problem, kept_aside: keptAside, start_again: startAgain })
    return exitCode
  }
  if (outcome.ok) output.print(`Familiar ${to} is in place of ${from}.`)
  else output.print(`Familiar ${from} stays: ${to} is not healthy (${problem}).`)
  if (snapshot) output.print(`The database of before: ${snapshot}`)
  if (keptAside) output.print(`What ${to} made of it: ${keptAside}`)
  if (startAgain) output.print('The daemon was stopped. To start it again: familiar serve')
  return exitCode
}

function cannotChange({ kind, root }: Installation): CommandError {
  const ways = {
    npx: 'npx takes the version that it is told: npx familiar@VERSION, or npx --package=TARBALL familiar',
    package: 'Update it with the package manager that put it there.',
  }
  return new CommandError(`${root} is not Familiar's to change.`, {
    code: 'unsupported',
    hint: kind === 'npx' ? ways.npx : ways.package,
  })
}
