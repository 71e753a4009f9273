import { join } from 'node:path'
import type { Sandbox, SandboxImage, SandboxMount } from '../../../sandbox/sandbox.ts'
import type { PythonPackages } from '../../packages/python-packages.ts'
import type { SourceStore } from '../../packages/source-store.ts'
import { keptKey } from '../folder/kept-key.ts'
import type { ToolFolder } from '../folder/tool-folder.ts'
import type { CommandPlan, PlannedCommand } from './command-plan.ts'
import { foldersOf } from './relocate.ts'

/** A command that can run now, but for its input. */
export interface ReadyCommand extends PlannedCommand {
  mounts: readonly SandboxMount[]
  image?: SandboxImage
}

export type Readiness =
  | { kind: 'ready'; command: ReadyCommand }
  /** Something is missing, named with what would help. */
  | { kind: 'lacking'; problem: string }
  /** Packages must be fetched first; that takes a while. */
  | { kind: 'unbuilt'; build(signal: AbortSignal): Promise<Readiness> }

const pythonDirectory = '/familiar/python'

/** Programs that go by another name on this machine. */
const otherNames: Record<string, string> = { python: 'python3', nodejs: 'node', node: 'nodejs' }

/** What this machine has of what a tool needs, and where its files lie. Runs none of its code. */
export async function prepareCommand(
  { folder, plan }: { folder: ToolFolder; plan: CommandPlan },
  dependencies: { sandbox: Sandbox; sources: SourceStore; packages: PythonPackages },
): Promise<Readiness> {
  const { sandbox, sources, packages } = dependencies
  const { driver, tried } = await sandbox.status()
  if (driver === null) {
    const fix = tried.flatMap(({ test }) => (test.ok ? [] : (test.fix ?? [])))[0]
    return lacking(`Code does not run here, since no sandbox holds${fix ? `: ${fix}` : ' (familiar doctor)'}`)
  }
  return driver === 'container' && plan.inImage ? await prepareImage(plan.inImage) : await prepareHere()

  async function prepareImage(command: PlannedCommand): Promise<Readiness> {
    const key = `${keptKey(folder)}-image`
    const directory = await sources.keep(
      key,
      folder.files.map((file) => [file.path, file] as const),
    )
    const image: SandboxImage = { directory, hash: folder.hash, name: `familiar-tool-${folder.name}` }
    return { kind: 'ready', command: { ...command, mounts: [], image } }
  }

  async function prepareHere(): Promise<Readiness> {
    const { here, needs } = plan
    if (here.problem !== null) return lacking(`${here.problem} (a container engine would run it)`)
    if (needs.node.length > 0) {
      return lacking(`needs ${needs.node.join(', ')}: cd ${folder.directory} && npm install ${needs.node.join(' ')}`)
    }
    const { missing, renamed } = await findPrograms(needs.programs.map(({ name }) => name))
    if (missing.size > 0) {
      const packagesToInstall = needs.programs.filter(({ name }) => missing.has(name)).map((need) => need.package)
      return lacking(`needs ${[...missing].join(', ')}: sudo apt-get install ${packagesToInstall.join(' ')}`)
    }
    const [program, ...given] = here.argv
    const argv: [string, ...string[]] = [renamed.get(program) ?? program, ...given]
    if (needs.python.length === 0) return { kind: 'ready', command: await commandOf(argv, undefined) }
    const built = await packages.find(needs.python)
    if (built !== undefined) return { kind: 'ready', command: await commandOf(argv, built) }
    return {
      kind: 'unbuilt',
      async build(signal) {
        const build = await packages.build(needs.python, signal)
        if (!build.ok) return lacking(build.problem)
        return { kind: 'ready', command: await commandOf(argv, build.directory) }
      },
    }
  }

  async function findPrograms(names: readonly string[]) {
    const renamed = new Map<string, string>()
    const missing = new Set(await sandbox.missingPrograms(names))
    for (const name of missing) {
      const other = otherNames[name]
      if (other === undefined || (await sandbox.missingPrograms([other])).length > 0) continue
      renamed.set(name, other)
      missing.delete(name)
    }
    return { missing, renamed }
  }

  async function commandOf(argv: [string, ...string[]], python: string | undefined): Promise<ReadyCommand> {
    const { files, workingDirectory, environment } = plan.here
    const key = `${keptKey(folder)}-files`
    const directory = await sources.keep(key, files)
    const mounts = foldersOf(files.keys()).map((target) => ({ source: join(directory, target), target }))
    if (python === undefined) return { argv, workingDirectory, environment, mounts }
    const path = [pythonDirectory, environment.PYTHONPATH].filter(Boolean).join(':')
    return {
      argv,
      workingDirectory,
      environment: { ...environment, PYTHONPATH: path },
      mounts: [...mounts, { source: python, target: pythonDirectory }],
    }
  }
}

function lacking(problem: string): Readiness {
  return { kind: 'lacking', problem }
}
