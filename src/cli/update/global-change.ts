import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { z } from 'zod'
import { findProgram } from '../../base/find-program.ts'
import { parseJson } from '../../base/json.ts'
import type { CommandContext } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { type Installation, workFolderName } from './installation.ts'
import type { ProgramChange } from './program-change.ts'
import { fetchEnvironment, runTool } from './run-tool.ts'

type Global = Extract<Installation, { kind: 'global' }>

const manifestSchema = z.object({ name: z.literal('familiar'), version: z.string().regex(/^[\w.+-]+$/) })

/** Has npm install another version into a folder of its own beside this one, with all that it depends on. */
export async function stageGlobal(
  context: CommandContext,
  { installation, wanted, from }: { installation: Global; wanted: string; from: string },
): Promise<ProgramChange> {
  const places = placesOf(installation)
  try {
    rmSync(places.staged, { recursive: true, force: true })
    mkdirSync(places.work, { recursive: true })
  } catch (cause) {
    throw new CommandError(`${places.work} cannot be written.`, {
      code: 'forbidden',
      hint: `Whoever installed Familiar into ${installation.prefix} has to update it there.`,
      cause,
    })
  }
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
  if (!manifest) throw new CommandError(`${wanted} is no version of Familiar. It was not used.`)
  return globalChange(installation, { from, to: manifest.version })
}

/** The change between two versions that lie side by side, also where an earlier update has left them so. */
export function globalChange(installation: Global, { from, to }: { from: string; to: string }): ProgramChange {
  const places = placesOf(installation)
  return {
    from,
    to,
    triedCommand: join(places.fresh, 'bin', 'familiar'),
    command: join(installation.root, 'bin', 'familiar'),
    async apply() {
      rmSync(places.old, { recursive: true, force: true })
      // Between the two renames there is no program at its place. Should it end there, the command finds its way.
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
    bridge: join(work, 'familiar.cjs'),
  }
}

function bridgeText(root: string, old: string): string {
  return `#!/usr/bin/env node
'use strict'
// Stands in for the program while "familiar update" changes it, and mends a change that was cut off.
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

function readManifest(root: string): z.infer<typeof manifestSchema> | undefined {
  try {
    const parsed = parseJson(readFileSync(join(root, 'package.json'), 'utf8'), manifestSchema)
    return parsed.ok ? parsed.value : undefined
  } catch {
    return undefined
  }
}

export async function npmProgram({ env }: Pick<CommandContext, 'env'>): Promise<string> {
  const npm = await findProgram([join(dirname(process.execPath), 'npm'), 'npm'], env.PATH ?? '')
  if (npm) return npm
  throw new CommandError('npm is needed for that, and there is none in PATH.', { hint: 'It comes with Node.' })
}
