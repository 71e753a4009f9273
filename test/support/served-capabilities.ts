import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../src/base/clock.ts'
import { createIds } from '../../src/base/ids.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { createWakeups } from '../../src/base/wakeups.ts'
import type { SandboxProxy } from '../../src/egress/sandbox-proxy.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import type { Redactor } from '../../src/secrets/redactor.ts'
import type { Vault } from '../../src/secrets/vault.ts'
import type { Database } from '../../src/storage/database.ts'
import type { Build } from '../../src/tools/capabilities/builds/builds.ts'
import { createBuilds } from '../../src/tools/capabilities/builds/create-builds.ts'
import type { CapabilityCatalog } from '../../src/tools/capabilities/catalog/catalog.ts'
import { createCapabilityCatalog } from '../../src/tools/capabilities/catalog/create-catalog.ts'
import { createCapabilitySearch } from '../../src/tools/capabilities/catalog/create-search.ts'
import { createCapabilities } from '../../src/tools/capabilities/create-capabilities.ts'
import { createCapabilityExecutor } from '../../src/tools/capabilities/execute/create-capability-executor.ts'
import { createCapabilityGate } from '../../src/tools/capabilities/gate/create-capability-gate.ts'
import { readManifest } from '../../src/tools/capabilities/manifest/read-manifest.ts'
import { createCapabilityRepairs } from '../../src/tools/capabilities/repair-capability.ts'
import { createCapabilityRuns } from '../../src/tools/capabilities/run-capability.ts'
import { createCapabilityFolders } from '../../src/tools/capabilities/share/create-capability-folders.ts'
import { createVersionStore } from '../../src/tools/capabilities/versions/version-store.ts'
import type { PythonPackages } from '../../src/tools/packages/python-packages.ts'
import type { ToolAudit } from '../../src/tools/tool-audit.ts'

/** Everything of capabilities but the loop that builds them: what that would do, a test does at the Builder's desk. */
export async function openServedCapabilities(options: {
  home: string
  database: Database
  vault: Vault
  redactor: Redactor
  sandbox: Sandbox
  proxy: SandboxProxy
  packages: PythonPackages
  audit: ToolAudit
  clock: Clock
}) {
  const { home, database, vault, redactor, sandbox, clock, audit } = options
  const ids = createIds(clock)
  const logger = silentLogger
  const versions = createVersionStore({ directory: join(home, 'capabilities') })
  const catalog = createCapabilityCatalog({ database, versions, clock, ids, logger })
  await catalog.start()
  const search = createCapabilitySearch({ catalog, database, logger })
  const executor = createCapabilityExecutor({ ...options, logger })
  const staging = join(home, 'staging')
  mkdirSync(staging, { recursive: true })
  const gate = createCapabilityGate({ executor, catalog, sandbox, redactor, directory: staging, logger })
  const begun: Build[] = []
  const stopped: Build[] = []
  const builds = createBuilds({
    database,
    catalog,
    vault,
    work: {
      begin: async (build) => void begun.push(build),
      stop: async (build) => void stopped.push(build),
      state: async () => 'alive',
    },
    clock,
    ids,
    wakeups: createWakeups(),
    logger,
  })
  const capabilities = createCapabilities({
    catalog,
    search,
    builds,
    runs: createCapabilityRuns({ catalog, executor, audit, redactor, clock, isEnabled: () => true }),
    folders: createCapabilityFolders({ catalog, gate }),
    repairs: createCapabilityRepairs({ catalog, builds, clock }),
    audit,
    vault,
    whyNot: async () => undefined,
  })

  return {
    capabilities,
    /** The side of the Builder. */
    desk: builds,
    gate,
    begun,
    stopped,
    /** Asked for by a conversation, and begun. */
    requestBuild: (userId: string, name: string) =>
      builds.request({
        userId,
        name,
        kind: 'build',
        request: {
          description: `What ${name} is for`,
          inputSchema: { type: 'object' },
          failure: null,
          seen: { untrusted: false, private: false },
        },
        sessionId: null,
        callId: null,
      }),
    /** A version as if the gate had let it through. */
    publish: (userId: string, files: Record<string, string>) =>
      catalog.publish({ ...draftOf(files), userId, origin: 'written', buildId: null, state: 'active' }),
    /** What the Builder does at the end: its version and the end of its build in one unit. */
    async complete(build: Build): Promise<void> {
      const { id: buildId, userId, name } = build
      const draft = draftOf(greeterFiles({ 'manifest.json': greeterManifest({ name }) }))
      const also: Publication['also'] = (writer, { version }) => builds.completeIn(writer, build, version)
      await catalog.publish({ ...draft, userId, origin: 'built', buildId, state: 'active', also })
      builds.completed(build)
    },
    secretOf: vault.get,
    async close() {
      await builds.close()
      await search.close()
    },
  }
}

export type ServedCapabilities = Awaited<ReturnType<typeof openServedCapabilities>>

/** The files of a capability in Python that says hello, for a test to change. */
export function greeterFiles(changes: Record<string, string | object> = {}): Record<string, string> {
  const files: Record<string, string | object> = {
    'main.py': 'def run(args):\n    return "Hello, " + args["name"] + "!"\n',
    'manifest.json': greeterManifest(),
    'examples.json': [{ input: { name: 'Ada' }, expect: { equals: 'Hello, Ada!' } }],
    ...changes,
  }
  return Object.fromEntries(
    Object.entries(files).map(([path, value]) => [path, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
}

export function greeterManifest(changes: object = {}): object {
  return {
    name: 'greeter',
    description: 'Greets somebody by name',
    runtime: 'python',
    input_schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    tags: ['greeting'],
    hosts: [],
    secrets: [],
    storage: false,
    ...changes,
  }
}

type Publication = Parameters<CapabilityCatalog['publish']>[0]

function draftOf(files: Record<string, string>): Pick<Publication, 'manifest' | 'files'> {
  const read = readManifest(files['manifest.json'] ?? '')
  if (!read.ok) throw new Error(read.problems.join('\n'))
  const bytes = Object.entries(files).map(([path, text]) => [path, new TextEncoder().encode(text)] as const)
  return { manifest: read.manifest, files: new Map(bytes) }
}
