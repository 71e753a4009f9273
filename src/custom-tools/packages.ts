import { inflateSync } from 'node:zlib'
import { z } from 'zod'
import { readBundledText } from '../base/files.ts'
import { sha256 } from '../base/ids.ts'
import { canonicalJson, type Parsed, parseJson } from '../base/json.ts'
import { untilAborted } from '../base/work.ts'
import { type Sandbox, type SandboxCommand, type SandboxMount, SandboxUnavailable } from '../sandbox/sandbox.ts'
import type { SandboxProxy } from '../security/network/sandbox-proxy.ts'
import { createSourceStore } from './stored-files.ts'

export interface PackageIndex {
  hosts: readonly string[]
  /** Further words for pip, and what of this machine they name. */
  arguments: readonly string[]
  mounts: readonly SandboxMount[]
}

const publicIndex: PackageIndex = { hosts: ['pypi.org', 'files.pythonhosted.org'], arguments: [], mounts: [] }

/** An index that the owner named, in place of the public one. */
export function packageIndexAt(address: string): PackageIndex {
  const { protocol, hostname, host } = new URL(address)
  // Mirrors often point to the files where PyPI has them.
  const hosts = [host, 'files.pythonhosted.org']
  return {
    hosts,
    arguments: ['--index-url', address, ...(protocol === 'http:' ? ['--trusted-host', hostname] : [])],
    mounts: [],
  }
}

export type PackageBuild = { ok: true; directory: string } | { ok: false; problem: string }

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
const maxRequirementLength = 1_000

export function isRequirement(line: string): boolean {
  return line.length <= maxRequirementLength && requirement.test(line)
}

export type PythonPackages = ReturnType<typeof createPythonPackages>

/** Python packages, built once for each set of requirements and each Python, read-only and shared by all that need them. */
export function createPythonPackages(dependencies: {
  directory: string
  sandbox: Sandbox
  proxy: Pick<SandboxProxy, 'open'>
  index?: PackageIndex | undefined
}) {
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
      const outcome = await sandbox.run({
        ...pythonCommand(script, signal),
        stdin: new TextEncoder().encode(JSON.stringify({ requirements, arguments: index.arguments, place })),
        mounts: index.mounts,
        network: way ? { kind: 'proxy', socketPath: way.socketPath } : { kind: 'none' },
      })
      if (outcome.end.kind !== 'exited' || outcome.end.code !== 0) {
        const said = new TextDecoder().decode(outcome.stderr).trim().slice(-500)
        return failed(requirements, said || `it ended with ${outcome.end.kind}`)
      }
      const files = readPackages(outcome.stdout)
      if (!files.ok) return failed(requirements, files.message)
      return { ok: true, directory: await store.keep(key, files.value) }
    } finally {
      await way?.close()
    }
  }

  return {
    find: async (requirements: readonly string[]): Promise<string | undefined> => store.find(await keyOf(requirements)),
    /** Those who ask for the same at the same time wait for one build, which ends early only when all of them have left. */
    async build(requirements: readonly string[], signal: AbortSignal): Promise<PackageBuild> {
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
  const outcome = await sandbox.run(pythonCommand(asked, AbortSignal.timeout(30_000)))
  return new TextDecoder().decode(outcome.stdout)
}

function pythonCommand(code: string, signal: AbortSignal): SandboxCommand {
  return {
    argv: ['python3', '-c', code],
    environment: {},
    workingDirectory: '/tmp',
    stdin: new Uint8Array(),
    mounts: [],
    isWritable: true,
    network: { kind: 'none' },
    limits,
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

const entrySchema = z.union([
  z.object({ path: z.string(), size: z.int().min(0), packed: z.int().min(0) }),
  z.object({ end: z.literal(true) }),
  z.object({ error: z.string() }),
])

const newline = 0x0a
const maxHeaderLength = 4_096
const maxBytes = 512 * 1024 ** 2
const maxFiles = 50_000
// One way to write each path: no `..`, no absolute one, no empty step, nothing that is not seen.
const plainPath = /^(?!.*(?:^|\/)\.{1,2}(?:\/|$))[^/\p{C}\\][^\p{C}\\]{0,500}$/u

/** The output of the build as files. It comes from a sandbox, so everything is checked. */
export function readPackages(output: Uint8Array): Parsed<Map<string, Uint8Array>> {
  const files = new Map<string, Uint8Array>()
  let total = 0
  for (let at = 0; at < output.length; ) {
    const end = output.subarray(at, at + maxHeaderLength).indexOf(newline)
    if (end === -1) return wrong('a line is missing')
    const header = parseJson(new TextDecoder().decode(output.subarray(at, at + end)), entrySchema)
    if (!header.ok) return wrong(header.message)
    at += end + 1
    if ('error' in header.value) return { ok: false, message: header.value.error }
    if ('end' in header.value)
      return at === output.length ? { ok: true, value: files } : wrong('there is more after its end')
    const { path, size, packed } = header.value
    total += size
    if (!plainPath.test(path) || path.includes('//') || path.endsWith('/')) return wrong('a path leads elsewhere')
    if (total > maxBytes || files.size >= maxFiles) return wrong('it is too large')
    const content = inflate(output.subarray(at, at + packed), size)
    if (!content || at + packed > output.length) return wrong(`${path} is not whole`)
    files.set(path, content)
    at += packed
  }
  return wrong('its end is missing')
}

function inflate(packed: Uint8Array, size: number): Uint8Array | undefined {
  try {
    const content = inflateSync(packed, { maxOutputLength: Math.max(1, size) })
    return content.length === size ? content : undefined
  } catch {
    return undefined
  }
}

function wrong(message: string): { ok: false; message: string } {
  return { ok: false, message: `The packages that were built cannot be read: ${message}` }
}

interface Work<T> {
  result: Promise<T>
  waiting: number
  ending: AbortController
}

/**
 * Work by key that runs once for all simultaneous callers. It ends when the last caller has left; the next caller starts
 * it again.
 */
export function createSharedWork<T>() {
  const underWay = new Map<string, Work<T>>()

  function start(key: string, begin: (signal: AbortSignal) => Promise<T>): Work<T> {
    const ending = new AbortController()
    const work: Work<T> = { result: begin(ending.signal).finally(() => forget(key, work)), waiting: 0, ending }
    underWay.set(key, work)
    return work
  }

  function forget(key: string, work: Work<T>): void {
    if (underWay.get(key) === work) underWay.delete(key)
  }

  return async (key: string, signal: AbortSignal, begin: (signal: AbortSignal) => Promise<T>): Promise<T> => {
    signal.throwIfAborted()
    const work = underWay.get(key) ?? start(key, begin)
    work.waiting += 1
    try {
      return await untilAborted(work.result, signal)
    } finally {
      work.waiting -= 1
      if (work.waiting === 0) {
        forget(key, work)
        work.ending.abort()
      }
    }
  }
}
