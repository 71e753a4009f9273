import { posix } from 'node:path'
import { z } from 'zod'
import { parseJson } from '../../../base/json.ts'
import { type DockerfilePlan, readDockerfile } from '../../../sandbox/read-dockerfile.ts'
import { type FolderFile, readFolderText, type ToolFolder } from '../folder/tool-folder.ts'
import { arrangeFiles } from './arrange-files.ts'
import type { CommandPlan, PlannedCommand, ToolNeeds } from './command-plan.ts'
import { findRunner } from './find-runner.ts'
import { relocate } from './relocate.ts'
import { isKnownPackage, packageOf, programOf } from './system-packages.ts'

export type Planning = { ok: true; plan: CommandPlan } | { ok: false; problem: string }

/** Where a tool without a Dockerfile finds itself. */
const usualDirectory = '/tool'

/** What runs: as the Dockerfile says, or the runner by its name. */
export function planCommand(folder: ToolFolder): Planning {
  const dockerfile = readFolderText(folder, 'Dockerfile')
  return dockerfile === undefined ? planRunner(folder) : planDockerfile(folder, dockerfile)
}

function planRunner(folder: ToolFolder): Planning {
  const runner = findRunner(folder.files)
  if (!runner) return { ok: false, problem: 'There is no Dockerfile and no runner (runner.py, runner.sh, runner.js)' }
  const requirements = readFolderText(folder, 'requirements.txt')
  const command: PlannedCommand = { argv: runner.argv, workingDirectory: usualDirectory, environment: {} }
  const everything = { source: '.', target: usualDirectory, isIntoDirectory: true }
  const { arranged } = arrangeFiles({ copies: [everything], executables: [] }, folder.files)
  const plan: CommandPlan = {
    here: { ...command, files: arranged, problem: null },
    inImage: null,
    needs: {
      programs: [{ name: runner.program, package: runner.package }],
      python: requirements === undefined ? [] : requirementLines(requirements),
      node: [],
    },
    notes: [],
  }
  return { ok: true, plan }
}

function planDockerfile(folder: ToolFolder, dockerfile: string): Planning {
  const written = readDockerfile(dockerfile)
  // A tool is always given an argument, which takes the place of CMD: with no ENTRYPOINT there would be nothing to run.
  const [program, ...given] = written.entrypoint.length > 0 ? written.entrypoint : written.cmd
  const fatal = written.problems.find((problem) => problem.isFatal)
  if (program === undefined) {
    const { line, message } = fatal ?? { line: 1, message: 'There is no ENTRYPOINT' }
    return { ok: false, problem: `Dockerfile, line ${line}: ${message}` }
  }
  const { arranged, missing } = arrangeFiles(written, folder.files)
  const inner: PlannedCommand = {
    argv: [program, ...given],
    workingDirectory: written.workdir,
    environment: written.environment,
  }
  const plan: CommandPlan = {
    here: { ...relocate(inner, arranged), problem: whyNotHere(written, missing) },
    inImage: inner,
    needs: needsOf(written, folder, program),
    notes: notesOf(written),
  }
  return { ok: true, plan }
}

function whyNotHere({ problems }: DockerfilePlan, missing: readonly string[]): string | null {
  const fatal = problems.find((problem) => problem.isFatal)
  if (fatal) return `Dockerfile, line ${fatal.line}: ${fatal.message}`
  return missing.length > 0 ? `The Dockerfile copies what its folder does not hold: ${missing.join(', ')}` : null
}

function notesOf({ problems, installs }: DockerfilePlan): string[] {
  const unknown = installs.system.filter((name) => !isKnownPackage(name))
  const passedOver = problems.filter((problem) => !problem.isFatal)
  return [
    ...passedOver.map(({ line, message }) => `Dockerfile, line ${line}: ${message}`),
    ...(unknown.length > 0 ? [`It installs ${unknown.join(', ')}: whether this machine has it is not known.`] : []),
  ]
}

function needsOf({ installs }: DockerfilePlan, folder: ToolFolder, program: string): ToolNeeds {
  const installed = installs.system.flatMap((name) => programOf(name) ?? [])
  const own = program.includes('/') ? [] : [{ name: program, package: packageOf(program) }]
  const fromFiles = installs.pipFiles.flatMap((path) => requirementLines(readFolderText(folder, path) ?? ''))
  const ownPackages = installs.npmProject ? nodeDependencies(readFolderText(folder, 'package.json')) : []
  return {
    programs: [...new Map([...own, ...installed].map((need) => [need.name, need])).values()],
    python: [...new Set([...installs.pip, ...fromFiles])],
    node: missingNodePackages([...new Set([...installs.npm.map(packageName), ...ownPackages])], folder.files),
  }
}

function requirementLines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter(Boolean)
}

const packageSchema = z.object({ dependencies: z.record(z.string(), z.unknown()).default({}) })

function nodeDependencies(text: string | undefined): string[] {
  const parsed = parseJson(text ?? '{}', packageSchema)
  return parsed.ok ? Object.keys(parsed.value.dependencies) : []
}

/** `@scope/name@1.2` is `@scope/name`. */
function packageName(written: string): string {
  return written.replace(/(?<=.)@.*$/, '')
}

function missingNodePackages(names: readonly string[], files: readonly FolderFile[]): string[] {
  return names.filter((name) => !files.some(({ path }) => path.startsWith(posix.join('node_modules', name, '/'))))
}
