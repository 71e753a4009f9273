import { z } from 'zod'
import { parseJson } from '../base/json.ts'
import { type Sandbox, SandboxUnavailable } from '../sandbox/sandbox.ts'
import type { PackagesOf } from '../tools/builtin/outside-tools.ts'
import type { NodePackages } from './node-packages.ts'
import { isRequirement, type PythonPackages } from './packages.ts'

const pythonPlace = '/familiar/python'
const plainName = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
// Found from every folder, by `require` and `import`.
const nodePlace = '/node_modules'
const npmPrefix = 'npm:'

const limits = {
  memoryBytes: 256 * 1024 ** 2,
  processes: 16,
  wallMs: 30_000,
  outputBytes: 64 * 1024,
  scratchBytes: 1024 ** 2,
}

const lookUp = `
import importlib.metadata, json, sys
there = []
for name in json.load(sys.stdin):
    try:
        importlib.metadata.version(name)
        there.append(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(there))
`

/**
 * Packages that a single run asks for. Packages of the machine's own Python are used as they are; the rest is built
 * once for each set, like the packages of tools, and mounted read-only.
 */
export function createRunPackages(dependencies: {
  sandbox: Pick<Sandbox, 'run'>
  python: Pick<PythonPackages, 'build'>
  node: Pick<NodePackages, 'build'>
}): PackagesOf {
  const { sandbox, python, node } = dependencies

  async function installed(names: readonly string[], signal: AbortSignal): Promise<string[]> {
    if (names.length === 0) return []
    const outcome = await sandbox.run({
      argv: ['python3', '-c', lookUp],
      environment: {},
      workingDirectory: '/tmp',
      stdin: new TextEncoder().encode(JSON.stringify(names)),
      mounts: [],
      isWritable: true,
      network: { kind: 'none' },
      limits,
      signal,
    })
    const parsed = parseJson(new TextDecoder().decode(outcome.stdout), z.array(z.string()))
    return parsed.ok ? parsed.value : []
  }

  async function ofPython(names: readonly string[], signal: AbortSignal): Promise<RunPackages> {
    const refused = names.find((name) => !isRequirement(name))
    if (refused !== undefined) {
      const problem = `${refused} is not a package name. Use names with versions, such as openpyxl or openpyxl==3.1.5.`
      return { ok: false, problem }
    }
    const plain = names.filter((name) => plainName.test(name))
    const there = await installed(plain, signal)
    const missing = names.filter((name) => !there.includes(name))
    if (missing.length === 0) return nothing
    const built = await python.build(missing, signal)
    if (!built.ok) return notRun(built.problem)
    const mounts = [{ source: built.directory, target: pythonPlace }]
    return { ok: true, mounts, environment: { PYTHONPATH: pythonPlace } }
  }

  async function ofNode(names: readonly string[], signal: AbortSignal): Promise<RunPackages> {
    if (names.length === 0) return nothing
    const built = await node.build(names, signal)
    if (!built.ok) return notRun(built.problem)
    return { ok: true, mounts: [{ source: built.directory, target: nodePlace }], environment: {} }
  }

  return async (names, signal) => {
    try {
      const isNpm = (name: string) => name.startsWith(npmPrefix)
      const one = await ofPython(
        names.filter((name) => !isNpm(name)),
        signal,
      )
      if (!one.ok) return one
      const npm = names.filter(isNpm).map((name) => name.slice(npmPrefix.length))
      const other = await ofNode(npm, signal)
      return other.ok ? { ...one, mounts: [...one.mounts, ...other.mounts] } : other
    } catch (cause) {
      if (!(cause instanceof SandboxUnavailable)) throw cause
      return { ok: false, problem: cause.message }
    }
  }
}

type RunPackages = Awaited<ReturnType<PackagesOf>>

const nothing: RunPackages = { ok: true, mounts: [], environment: {} }

function notRun(problem: string): RunPackages {
  const end = /[.?!]$/.test(problem) ? '' : '.'
  return { ok: false, problem: `The command was not run: it ${problem}${end}` }
}
