import { join, posix } from 'node:path'
import { z } from 'zod'
import { parseAnyJson, parseJson } from '../base/json.ts'
import { type DockerfileCopy, type DockerfilePlan, readDockerfile } from '../sandbox/dockerfile.ts'
import type { Sandbox, SandboxImage, SandboxMount } from '../sandbox/sandbox.ts'
import { readManifest, type ToolManifest } from './manifest.ts'
import type { PythonPackages } from './packages.ts'
import names from './programs.json' with { type: 'json' }
import type { SourceStore } from './stored-files.ts'
import { type Fingerprint, toolFingerprint } from './tool-approval.ts'
import { type FolderFile, keptKey, readFolderText, readRequirements, type ToolFolder } from './tool-folder.ts'

export interface LoadedTool {
  folder: ToolFolder
  manifest: ToolManifest
  plan: CommandPlan
  fingerprint: Fingerprint
  notes: readonly string[]
}

const largestManifest = 256 * 1024

/** Never throws: a folder that is wrong says why. */
export function loadTool(read: ToolFolder): { ok: true; tool: LoadedTool } | { ok: false; problem: string } {
  const text = readFolderText(read, 'manifest.json')
  if (text === undefined) return { ok: false, problem: 'manifest.json is missing' }
  if (text.length > largestManifest) return { ok: false, problem: 'manifest.json has more than 256 KB' }
  const json = parseAnyJson(text.replace(/^\ufeff/, ''))
  if (!json.ok) return { ok: false, problem: `manifest.json is no JSON: ${json.message}` }
  const reading = readManifest(json.value)
  if (!reading.ok) return reading
  // A clone of a published tool is in a folder named after its repository: the tool is called what its manifest says.
  const folder = { ...read, name: reading.manifest.name }
  const planning = planCommand(folder)
  if (!planning.ok) return planning
  const { manifest, notes } = reading
  const { plan } = planning
  const fingerprint = toolFingerprint(manifest, folder)
  return { ok: true, tool: { folder, manifest, plan, fingerprint, notes: [...notes, ...plan.notes] } }
}

// In the order in which they are looked for.
const runners = ['runner', 'main']
const languages: Record<string, readonly [program: string, ...options: string[]]> = {
  py: ['python3', '-u'],
  sh: ['bash'],
  js: ['node'],
  mjs: ['node'],
}

/** The program of a tool without a Dockerfile, by the name of its file. */
function findRunner(files: readonly FolderFile[]): readonly [string, ...string[]] | undefined {
  for (const name of runners) {
    for (const [ending, program] of Object.entries(languages)) {
      const file = `${name}.${ending}`
      if (files.some(({ path }) => path === file)) return [...program, file]
    }
  }
  return undefined
}

// Packages of apk and apt with the program that each is installed for. Null: none that could be called.
const programs = new Map<string, string | null>(Object.entries(names.programs))
// The same by the name of the program, for the ones whose package in Debian is called otherwise.
const packages = new Map(Object.entries(names.packages))

function programNamed(name: string): { name: string; package: string } {
  return { name, package: packages.get(name) ?? name }
}

type Planning = { ok: true; plan: CommandPlan } | { ok: false; problem: string }

/** The folder of a tool without a Dockerfile. */
const usualDirectory = '/tool'

/** The command: from the Dockerfile, or the runner by its name. */
export function planCommand(folder: ToolFolder): Planning {
  const dockerfile = readFolderText(folder, 'Dockerfile')
  return dockerfile === undefined ? planRunner(folder) : planDockerfile(folder, dockerfile)
}

function planRunner(folder: ToolFolder): Planning {
  const runner = findRunner(folder.files)
  if (!runner) return { ok: false, problem: 'There is no Dockerfile and no runner (runner.py, runner.sh, runner.js)' }
  const requirements = readFolderText(folder, 'requirements.txt')
  const command: PlannedCommand = { argv: runner, workingDirectory: usualDirectory, environment: {} }
  const everything = { source: '.', target: usualDirectory, isIntoDirectory: true }
  const { arranged } = arrangeFiles({ copies: [everything], executables: [] }, folder.files)
  const plan: CommandPlan = {
    here: { ...command, files: arranged, problem: null },
    inImage: null,
    needs: {
      programs: [programNamed(runner[0])],
      python: requirements === undefined ? [] : readRequirements(requirements),
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

// Images that bring a language or a system and nothing else: programs of this machine do the same.
const plainImage =
  /^(?:python|node|alpine|debian|ubuntu|bash|busybox|bun|deno|ruby|perl|php|fedora|archlinux|pypy|slim|base|distroless)/

function whyNotHere({ problems, from }: DockerfilePlan, missing: readonly string[]): string | null {
  const fatal = problems.find((problem) => problem.isFatal)
  if (fatal) return `Dockerfile, line ${fatal.line}: ${fatal.message}`
  if (missing.length > 0) return `The Dockerfile copies what its folder does not hold: ${missing.join(', ')}`
  const image = from?.replace(/@.*$/, '').split('/').at(-1)?.replace(/:.*$/, '').toLowerCase()
  return image && !plainImage.test(image) ? `needs the image ${from}, which this sandbox cannot run` : null
}

function notesOf({ problems, installs }: DockerfilePlan): string[] {
  const unknown = installs.system.filter((name) => !programs.has(name))
  const passedOver = problems.filter((problem) => !problem.isFatal)
  return [
    ...passedOver.map(({ line, message }) => `Dockerfile, line ${line}: ${message}`),
    ...(unknown.length > 0 ? [`It installs ${unknown.join(', ')}: whether this machine has it is not known.`] : []),
  ]
}

/** Programs and packages that must exist, if no image has them. */
function needsOf({ installs }: DockerfilePlan, folder: ToolFolder, program: string) {
  const installed = installs.system.flatMap((name) => programs.get(name) ?? []).map(programNamed)
  const own = program.includes('/') ? [] : [programNamed(program)]
  const fromFiles = installs.pipFiles.flatMap((path) => readRequirements(readFolderText(folder, path) ?? ''))
  const ownPackages = installs.npmProject ? nodeDependencies(readFolderText(folder, 'package.json')) : []
  return {
    /** Programs that must be found by their name, each with the package that has it. */
    programs: [...new Map([...own, ...installed].map((need) => [need.name, need])).values()],
    /** Requirements as pip takes them, one a line. */
    python: [...new Set([...installs.pip, ...fromFiles])],
    /** Packages that its own `node_modules` must hold. */
    node: missingNodePackages([...new Set([...installs.npm.map(packageName), ...ownPackages])], folder.files),
  }
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

/** Checks the needs of a tool on this machine, and places its files. Does not run its code. */
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
    const files = folder.files.map(({ path, bytes, isExecutable }) => [path, bytes, isExecutable] as const)
    const directory = await sources.keep(`${keptKey(folder)}-image`, files)
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
      const areMissing = `needs ${[...missing].join(', ')}, which ${missing.size === 1 ? 'is' : 'are'} not installed`
      return lacking(`${areMissing}: sudo apt-get install ${packagesToInstall.join(' ')}`)
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
    const placed = Array.from(files, ([path, { bytes, isExecutable }]) => [path, bytes, isExecutable] as const)
    const directory = await sources.keep(`${keptKey(folder)}-files`, placed)
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

/** The files of a tool by the place at which it finds them. */
type ArrangedFiles = ReadonlyMap<string, FolderFile>

/** The effect of the COPY lines, in order. `missing` are sources that match nothing in the folder. */
function arrangeFiles(
  { copies, executables }: Pick<DockerfilePlan, 'copies' | 'executables'>,
  files: readonly FolderFile[],
): { arranged: ArrangedFiles; missing: string[] } {
  const arranged = new Map<string, FolderFile>()
  const missing: string[] = []
  for (const copy of copies) {
    const landing = files.flatMap((file) => {
      const place = placeOf(copy, file.path)
      return place === undefined ? [] : [{ place, file }]
    })
    for (const { place, file } of landing) arranged.set(place, file)
    if (landing.length === 0 && copy.source !== '.') missing.push(copy.source)
  }
  for (const place of executables) {
    const file = arranged.get(place)
    if (file) arranged.set(place, { ...file, isExecutable: true })
  }
  return { arranged, missing }
}

/** The target of a file in this copy: under its own name, or, from a folder, under its path inside that folder. */
function placeOf({ source, target, isIntoDirectory }: DockerfileCopy, path: string): string | undefined {
  if (source === '.') return posix.join(target, path)
  const steps = source.split('/').length
  const start = path.split('/').slice(0, steps).join('/')
  const rest = path.split('/').slice(steps).join('/')
  if (start !== source && !posix.matchesGlob(start, source)) return undefined
  if (rest !== '') return posix.join(target, rest)
  return isIntoDirectory ? posix.join(target, posix.basename(path)) : target
}

/** How a tool is run, decided from its folder alone: nothing of this machine is looked at yet. */
export interface CommandPlan {
  here: PlannedCommand & {
    /** The folder of its files inside the sandbox. */
    files: ArrangedFiles
    /** Why that takes a container engine; null where it does not. */
    problem: string | null
  }
  /** In an image of its own, where it has a Dockerfile. */
  inImage: PlannedCommand | null
  needs: ReturnType<typeof needsOf>
  notes: readonly string[]
}

interface PlannedCommand {
  argv: readonly [string, ...string[]]
  workingDirectory: string
  environment: Readonly<Record<string, string>>
}

// The root itself, and what here are this machine's own folders.
const systemPlace = /^\/(?:[^/]*$|(?:usr|bin|sbin|lib|lib32|lib64|libx32|etc|proc|sys|dev|tmp|run)\/)/

/**
 * An image may have its files at the root or among the system's; here those places are this machine's own and stay as they
 * are. Then all the files move below `/tool` together, and with them every word of the command that names one.
 */
function relocate(command: PlannedCommand, files: ArrangedFiles): PlannedCommand & { files: ArrangedFiles } {
  const { argv, workingDirectory, environment } = command
  const mustMove = [...files.keys(), posix.join(workingDirectory, 'file')].some((place) => systemPlace.test(place))
  if (!mustMove) return { ...command, files }
  const move = (place: string) => posix.join(usualDirectory, place)
  const moveNamed = (word: string) => (isOwn(word) ? move(word) : word)
  function isOwn(word: string): boolean {
    if (!word.startsWith('/')) return false
    const path = posix.normalize(word).replace(/(?<=.)\/$/, '')
    return files.has(path) || (path !== '/' && path === workingDirectory)
  }
  const [program, ...given] = argv
  return {
    argv: [moveNamed(program), ...given.map(moveNamed)],
    workingDirectory: move(workingDirectory),
    environment: Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, moveNamed(value)])),
    files: new Map(Array.from(files, ([place, file]) => [move(place), file])),
  }
}

/** The folders inside that hold files, as few and as small as they can be: what must be mounted. */
export function foldersOf(places: Iterable<string>): string[] {
  const byFirst = Map.groupBy(places, (place) => place.split('/')[1] ?? '')
  return [...byFirst.values()].map((own) => own.map(posix.dirname).reduce(commonFolder))
}

function commonFolder(a: string, b: string): string {
  const steps = a.split('/')
  const other = b.split('/')
  const end = steps.findIndex((step, index) => step !== other[index])
  return end === -1 ? a : steps.slice(0, end).join('/') || '/'
}
