import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { secretOwnerOf } from '../../src/custom-tools/built-catalog.ts'
import { type CapabilityExecutor, createCapabilityExecutor, type Runnable } from '../../src/custom-tools/execute.ts'
import type { CapabilityManifest } from '../../src/custom-tools/manifest.ts'
import { createPythonPackages, type PackageIndex } from '../../src/custom-tools/packages.ts'
import type { Json } from '../../src/protocol/messages.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import type { AllowedHost } from '../../src/security/network/destinations.ts'
import { createPictureFetch } from '../../src/security/network/picture-fetch.ts'
import { createSandboxProxy } from '../../src/security/network/sandbox-proxy.ts'
import { createRedactor } from '../../src/security/redactor.ts'
import { createVault } from '../../src/security/vault.ts'
import { openTestDatabase } from './open-test-database.ts'

type RunCall = Parameters<CapabilityExecutor['run']>[0]

/** A manifest that declares nothing, for a test to change. */
export function capabilityManifest(changes: Partial<CapabilityManifest> = {}): CapabilityManifest {
  return {
    name: 'sample',
    description: 'A capability for a test',
    runtime: 'python',
    inputSchema: { type: 'object' },
    tags: [],
    askedAs: [],
    hosts: [],
    secrets: [],
    storage: false,
    timeoutMs: 20_000,
    memoryBytes: 256 * 1024 ** 2,
    ...changes,
  }
}

/** The environment of capabilities, over a real database, vault and proxy, with the users `max` and `eve`. */
export async function openCapabilities(options: {
  /** Proved once for all tests of a file: `openRealSandbox().sandbox`. The caller closes it. */
  sandbox: Sandbox
  packageIndex?: PackageIndex
  /** Hosts of this machine that the owner has listed. */
  listedHosts?: () => readonly AllowedHost[]
  clock?: Clock
}) {
  const { sandbox, clock = systemClock() } = options
  const home = mkdtempSync(join(tmpdir(), 'familiar-caps-'))
  const database = await openTestDatabase({ directory: home, clock })
  await database.write(async (writer) => {
    const users = ['max', 'eve'].map((id) => ({ id, name: id, role: 'user' as const, created_at: clock.now() }))
    await writer.insertInto('users').values(users).execute()
  })
  const redactor = createRedactor()
  const vault = createVault({ database, keyFile: join(home, 'key'), clock, redactor })
  const listedHosts = options.listedHosts ?? (() => [])
  const proxy = createSandboxProxy({ directory: home, logger: silentLogger, listedHosts })
  const packages = createPythonPackages({
    directory: join(home, 'cache', 'python'),
    sandbox,
    proxy,
    index: options.packageIndex,
  })
  const logger = silentLogger
  const fetchPictures = createPictureFetch({ listedHosts })
  const needs = { sandbox, proxy, packages, vault, redactor, database, clock, logger, fetchPictures }
  const executor = createCapabilityExecutor(needs)
  let folders = 0

  /** A version as stored on the disk: a text is its `main.py` or `main.js`. */
  function runnable(
    files: string | Record<string, string>,
    changes: Partial<CapabilityManifest> & { requirements?: readonly string[] } = {},
  ): Runnable {
    const { requirements = [], ...changed } = changes
    const manifest = capabilityManifest(changed)
    folders += 1
    const directory = join(home, 'drafts', String(folders))
    const named = typeof files === 'string' ? { [manifest.runtime === 'node' ? 'main.js' : 'main.py']: files } : files
    for (const [path, text] of Object.entries(named)) {
      mkdirSync(dirname(join(directory, path)), { recursive: true })
      writeFileSync(join(directory, path), text)
    }
    return { name: manifest.name, manifest, directory, requirements }
  }

  return {
    home,
    clock,
    database,
    redactor,
    vault,
    sandbox,
    proxy,
    packages,
    executor,
    runnable,
    /** Defaults: for `max`, without input, and with temporary storage. */
    run: (what: Runnable, input: Json = {}, changes: Partial<RunCall> = {}) =>
      executor.run({
        userId: 'max',
        runnable: what,
        input,
        storage: { kind: 'scratch' },
        signal: AbortSignal.timeout(60_000),
        ...changes,
      }),
    setSecret: (name: string, key: string, value: string, userId = 'max') =>
      vault.set({ userId, owner: secretOwnerOf(name), name: key }, value),
    /** A line of the catalog, for what refers to one. */
    async addCapability(id: string, name: string, userId = 'max'): Promise<void> {
      const now = clock.now()
      const row = {
        id,
        user_id: userId,
        name,
        description: name,
        state: 'active',
        origin: 'written',
        version: null,
      } as const
      const rest = { input_schema: '{}', tags: '[]', permissions: '{}', problem: null, last_called_at: null }
      const ends = { last_error: null, failing_input: null, created_at: now, updated_at: now }
      await database.write((writer) =>
        writer
          .insertInto('capabilities')
          .values({ ...row, ...rest, ...ends })
          .execute(),
      )
    },
    async close() {
      await proxy.close()
      await database.close()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

export type CapabilitiesHome = Awaited<ReturnType<typeof openCapabilities>>
