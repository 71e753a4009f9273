import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../src/base/clock.ts'
import { createIds } from '../../src/base/ids.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { createWakeups } from '../../src/base/work.ts'
import type { Build } from '../../src/custom-tools/builder/builds.ts'
import { createBuilds } from '../../src/custom-tools/builder/create-builds.ts'
import { createCapabilityGate } from '../../src/custom-tools/builder/gate.ts'
import { type CapabilityCatalog, createCapabilityCatalog } from '../../src/custom-tools/built-catalog.ts'
import { createCapabilities, createCapabilityRepairs } from '../../src/custom-tools/capabilities.ts'
import { createCapabilityRuns } from '../../src/custom-tools/custom-tool.ts'
import { createCapabilityExecutor } from '../../src/custom-tools/execute.ts'
import { readBuiltManifest as readManifest } from '../../src/custom-tools/manifest.ts'
import type { PythonPackages } from '../../src/custom-tools/packages.ts'
import { createCapabilitySearch } from '../../src/custom-tools/search.ts'
import { createCapabilityFolders } from '../../src/custom-tools/share.ts'
import { createVersionStore } from '../../src/custom-tools/versions.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import type { SandboxProxy } from '../../src/security/network/sandbox-proxy.ts'
import type { Redactor } from '../../src/security/redactor.ts'
import type { Vault } from '../../src/security/vault.ts'
import type { Database } from '../../src/storage/database.ts'
import type { ToolAudit } from '../../src/tools/registry.ts'

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
    /** Requested by a conversation, and started. */
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
    /** The Builder's last step: its version and the end of its build in one unit. */
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
