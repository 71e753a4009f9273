import { sha256 } from '../../base/hash.ts'
import { canonicalJson } from '../../base/json.ts'
import { readBundledText } from '../../base/text-file.ts'
import type { SandboxProxy } from '../../egress/sandbox-proxy.ts'
import { type Sandbox, type SandboxCommand, type SandboxMount, SandboxUnavailable } from '../../sandbox/sandbox.ts'
import { readPackages } from './read-packages.ts'
import { createSharedWork } from './shared-work.ts'
import { createSourceStore } from './source-store.ts'

/** Where packages come from. */
export interface PackageIndex {
  hosts: readonly string[]
  /** Further words for pip, and what of this machine they name. */
  arguments: readonly string[]
  mounts: readonly SandboxMount[]
}

const publicIndex: PackageIndex = { hosts: ['pypi.org', 'files.pythonhosted.org'], arguments: [], mounts: [] }

type PackageBuild = { ok: true; directory: string } | { ok: false; problem: string }

/** Python packages, built once for each set of requirements and each Python, read-only and shared by all that need them. */
export interface PythonPackages {
  /** The folder, where they are built already. */
  find(requirements: readonly string[]): Promise<string | undefined>
  /** Those who ask for the same at the same time wait for one build, which ends early only when all of them have left. */
  build(requirements: readonly string[], signal: AbortSignal): Promise<PackageBuild>
}

const limits = {
  memoryBytes: 2 * 1024 ** 3,
  processes: 64,
  wallMs: 300_000,
  outputBytes: 192 * 1024 ** 2,
  scratchBytes: 1024 ** 3,
}
const place = '/familiar/python'
const script = readBundledText(new URL('build-packages.py', import.meta.url))

// A name, extras, versions and a condition; nothing that begins with a dash, no address and no path.
const requirement =
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,100}\s*(?:\[[A-Za-z0-9._, -]{0,200}\])?\s*(?:[(<>=!~][^@/\\]{0,200})?(?:;[^@\\]{0,300})?$/

/** Past that length no requirement is one, and the expression above would take its time over blanks. */
const longestRequirement = 1_000

export function isRequirement(line: string): boolean {
  return line.length <= longestRequirement && requirement.test(line)
}

export function createPythonPackages(dependencies: {
  /** A folder of this program alone. */
  directory: string
  sandbox: Sandbox
  proxy: Pick<SandboxProxy, 'open'>
  index?: PackageIndex | undefined
}): PythonPackages {
  const { sandbox, proxy, index = publicIndex } = dependencies
  const store = createSourceStore({ directory: dependencies.directory })
  const share = createSharedWork<PackageBuild>()
  let version: Promise<string> | undefined

  async function keyOf(requirements: readonly string[]): Promise<string> {
    version ??= readVersion(sandbox).catch((cause) => {
      version = undefined
      throw cause
    })
    return sha256(canonicalJson([await version, script, [...new Set(requirements)].sort()])).slice(0, 32)
  }

  async function buildNow(key: string, requirements: readonly string[], signal: AbortSignal): Promise<PackageBuild> {
    const way = index.hosts.length > 0 ? await proxy.open({ hosts: index.hosts, tool: 'pip', signal }) : undefined
    try {
      const stdin = new TextEncoder().encode(JSON.stringify({ requirements, arguments: index.arguments, place }))
      const network: SandboxCommand['network'] = way ? { kind: 'proxy', socketPath: way.socketPath } : { kind: 'none' }
      const outcome = await sandbox.run({
        ...pythonCommand(['-c', script], signal),
        stdin,
        mounts: index.mounts,
        isWritable: true,
        network,
        limits,
      })
      if (outcome.end.kind !== 'exited' || outcome.end.code !== 0) {
        const said = new TextDecoder().decode(outcome.stderr).trim().slice(-500)
        return failed(requirements, said || `it ended with ${outcome.end.kind}`)
      }
      const files = readPackages(outcome.stdout)
      if (!files.ok) return failed(requirements, files.message)
      const entries = Array.from(files.value, ([path, bytes]) => [path, { bytes, isExecutable: false }] as const)
      return { ok: true, directory: await store.keep(key, entries) }
    } finally {
      await way?.close()
    }
  }

  return {
    find: async (requirements) => store.find(await keyOf(requirements)),
    async build(requirements, signal) {
      const refused = requirements.find((line) => !isRequirement(line))
      if (refused !== undefined)
        return failed([refused], 'only names with versions are installed, no options or addresses')
      try {
        const key = await keyOf(requirements)
        return await share(key, signal, (whileWanted) => buildNow(key, requirements, whileWanted))
      } catch (cause) {
        if (cause instanceof SandboxUnavailable) return failed(requirements, cause.message)
        throw cause
      }
    },
  }
}

/** Packages of one Python are of no use to another. */
async function readVersion(sandbox: Sandbox): Promise<string> {
  const asked = 'import sys, sysconfig; print(sys.version, sysconfig.get_platform())'
  const outcome = await sandbox.run({ ...pythonCommand(['-c', asked], AbortSignal.timeout(30_000)), limits })
  return new TextDecoder().decode(outcome.stdout)
}

function pythonCommand(given: readonly string[], signal: AbortSignal): Omit<SandboxCommand, 'limits'> {
  return {
    argv: ['python3', ...given],
    environment: {},
    workingDirectory: '/tmp',
    stdin: new Uint8Array(),
    mounts: [],
    isWritable: true,
    network: { kind: 'none' },
    signal,
  }
}

function failed(requirements: readonly string[], reason: string): PackageBuild {
  return { ok: false, problem: `needs ${requirements.join(', ')} for Python${hintOf(reason)}` }
}

/** Without a network pip complains at length that there is no such package. */
function hintOf(reason: string): string {
  if (/no module named pip/i.test(reason)) return ': sudo apt-get install python3-pip'
  if (!/connection broken by|max retries exceeded/i.test(reason)) return `, and pip says: ${reason}`
  return ', and the index of packages cannot be reached. Is this machine online?'
}
