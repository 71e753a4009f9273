import { z } from 'zod'
import { parseJson } from '../base/json.ts'
import { type Sandbox, SandboxUnavailable } from '../sandbox/sandbox.ts'
import type { PackagesOf } from '../tools/builtin/outside-tools.ts'
import { isRequirement, type PythonPackages } from './packages.ts'

const pythonPlace = '/familiar/python'
const plainName = /^[A-Za-z0-9][A-Za-z0-9._-]*$/
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
}): PackagesOf {
  const { sandbox, python } = dependencies

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

  return async (names, signal) => {
    const nothing = { ok: true as const, mounts: [], environment: {} }
    if (names.length === 0) return nothing
    const npm = names.filter((name) => name.startsWith(npmPrefix))
    if (npm.length > 0) return { ok: false, problem: `${npm.join(', ')}: npm packages cannot be installed here.` }
    const refused = names.find((name) => !isRequirement(name))
    if (refused !== undefined) {
      return {
        ok: false,
        problem: `${refused} is not a package name. Use names with versions, such as openpyxl or openpyxl==3.1.5.`,
      }
    }
    try {
      const there = await installed(
        names.filter((name) => plainName.test(name)),
        signal,
      )
      const missing = names.filter((name) => !there.includes(name))
      if (missing.length === 0) return nothing
      const built = await python.build(missing, signal)
      if (!built.ok) return { ok: false, problem: `The command was not run: it ${built.problem}.` }
      return {
        ok: true,
        mounts: [{ source: built.directory, target: pythonPlace }],
        environment: { PYTHONPATH: pythonPlace },
      }
    } catch (cause) {
      if (!(cause instanceof SandboxUnavailable)) throw cause
      return { ok: false, problem: cause.message }
    }
  }
}
