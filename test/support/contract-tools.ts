import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { createIds } from '../../src/base/ids.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { createContractTools } from '../../src/custom-tools/catalog.ts'
import { createPythonPackages, type PackageIndex } from '../../src/custom-tools/packages.ts'
import type { Json } from '../../src/protocol/messages.ts'
import { createSandbox, type SandboxDriver } from '../../src/sandbox/sandbox.ts'
import { createSandboxProxy } from '../../src/security/network/sandbox-proxy.ts'
import { createRedactor } from '../../src/security/redactor.ts'
import { createVault } from '../../src/security/vault.ts'
import { createToolAudit, createToolRegistry } from '../../src/tools/registry.ts'
import type { Tool, ToolContext, ToolOutcome } from '../../src/tools/tool.ts'
import { openTestDatabase } from './open-test-database.ts'
import { createUnsandboxedDriver } from './unsandboxed-driver.ts'

type ContractToolsOptions = Partial<Parameters<typeof createContractTools>[0]> & {
  driver?: SandboxDriver
  packageIndex?: PackageIndex
  builtin?: Tool[]
  /** Folders in the home beside `tools`, as the owner would configure them. */
  moreRoots?: string[]
}

/** A manifest with all that is required, for a test to change. */
export function manifestOf(name: string, more: Record<string, Json> = {}): Record<string, Json> {
  return {
    name,
    description: `The tool ${name}`,
    trigger: { type: 'on_demand' },
    parameters: {},
    returns: {},
    sandbox: { network: 'none' },
    ...more,
  }
}

/** Everything of contract tools over a real database and home, with the users `max` and `eve`. */
export async function openContractTools(options: ContractToolsOptions = {}) {
  const home = mkdtempSync(join(tmpdir(), 'familiar-tools-'))
  const directory = join(home, 'tools')
  const clock = options.clock ?? systemClock()
  const database = await openTestDatabase({ directory: home, clock })
  await database.write(async (writer) => {
    const users = ['max', 'eve'].map((id) => ({ id, name: id, role: 'user' as const, created_at: clock.now() }))
    await writer.insertInto('users').values(users).execute()
  })
  const switches = { isEnabled: true }
  const redactor = createRedactor()
  const vault = createVault({ database, keyFile: join(home, 'key'), clock, redactor })
  const driver = options.driver ?? createUnsandboxedDriver()
  const own = createSandbox(async () => [driver])
  const sandbox = options.sandbox ?? own
  const registry = createToolRegistry(options.builtin ?? [], () => switches.isEnabled)
  const proxy = createSandboxProxy({ directory: home, logger: silentLogger })
  const audit = createToolAudit({ database, clock, ids: createIds(clock), redact: redactor.redact })

  function open() {
    return createContractTools({
      roots: [
        { path: directory, isPrivate: true },
        ...(options.moreRoots ?? []).map((name) => ({ path: join(home, name), isPrivate: false })),
      ],
      cacheDirectory: join(home, 'cache'),
      registry,
      isEnabled: () => switches.isEnabled,
      sandbox,
      proxy,
      packages: createPythonPackages({
        directory: join(home, 'cache', 'python'),
        sandbox,
        proxy,
        index: options.packageIndex,
      }),
      vault,
      audit,
      database,
      redactor,
      clock,
      logger: silentLogger,
      ...options,
    })
  }
  let tools = open()

  function writeTool(name: string, files: Record<string, string>, root = directory): void {
    for (const [path, text] of Object.entries(files)) {
      const target = join(root, name, path)
      mkdirSync(dirname(target), { recursive: true })
      // As editors do it: whole, and under another name first.
      writeFileSync(`${target}.new`, text, { mode: path.endsWith('.sh') ? 0o755 : 0o644 })
      renameSync(`${target}.new`, target)
    }
  }

  return {
    home,
    directory,
    database,
    registry,
    redactor,
    vault,
    sandbox,
    driver,
    switches,
    writeTool,
    get tools() {
      return tools
    },
    get catalog() {
      return tools.catalog
    },
    /** Waits until what is on disk is what is offered. */
    async start() {
      await tools.start()
      await tools.settled()
    },
    /** Like a restart of the process. */
    async restart() {
      await tools.close()
      tools = open()
      await tools.start()
      await tools.settled()
    },
    /** The next change that is taken in and settled. */
    nextChange(): Promise<void> {
      return new Promise((resolve) => {
        const stop = tools.onChange(() => {
          stop()
          void tools.settled().then(resolve)
        })
      })
    },
    run: (name: string, params: Json = {}, more: Partial<Parameters<typeof tools.catalog.run>[0]> = {}) =>
      tools.catalog.run({ userId: 'max', name, params, caller: 'user', signal: AbortSignal.timeout(60_000), ...more }),
    async call(name: string, input: Json, context: Partial<ToolContext> = {}): Promise<ToolOutcome> {
      const tool = registry.find(name)
      if (!tool) throw new Error(`no tool ${name}`)
      return await tool.run(input, { ...toolContext, ...context })
    },
    async close() {
      await tools.close()
      await own.close()
      await proxy.close()
      await database.close()
      rmSync(home, { recursive: true, force: true })
    },
  }
}

export type ContractToolsHome = Awaited<ReturnType<typeof openContractTools>>

const toolContext: ToolContext = {
  userId: 'max',
  sessionId: 'session',
  turnId: 'turn',
  callId: 'call',
  userText: '',
  answers: null,
  seen: { untrusted: false, private: false },
  signal: new AbortController().signal,
  mayFollow: async () => true,
  progress: () => {},
}
