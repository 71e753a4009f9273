import { join } from 'node:path'
import type { Conversations } from '../agent/conversations.ts'
import type { CapabilityRoles, Roles } from '../agent/roles.ts'
import { createRunChild, type RunChild } from '../base/processes.ts'
import { createWakeups } from '../base/work.ts'
import type { Build, BuildWork } from '../custom-tools/builder/builds.ts'
import { createBuilds, type OnBuildStep } from '../custom-tools/builder/create-builds.ts'
import { createCapabilityGate } from '../custom-tools/builder/gate.ts'
import { createAnswerBuild, createBuilderTools } from '../custom-tools/builder/tools.ts'
import { createCapabilityCatalog } from '../custom-tools/built-catalog.ts'
import {
  builderPrompt,
  createAfterFailure,
  createCapabilities,
  createCapabilityPrompt,
  createCapabilityRepairs,
} from '../custom-tools/capabilities.ts'
import { createCapabilityTools } from '../custom-tools/capability-tools.ts'
import { createContractTools } from '../custom-tools/catalog.ts'
import { createCapabilityRuns, createCapabilityShelf } from '../custom-tools/custom-tool.ts'
import { createCapabilityExecutor } from '../custom-tools/execute.ts'
import { createNodePackages, findNpm } from '../custom-tools/node-packages.ts'
import { createPythonPackages, type PythonPackages, packageIndexAt } from '../custom-tools/packages.ts'
import { createRunPackages } from '../custom-tools/run-packages.ts'
import { createCapabilitySearch } from '../custom-tools/search.ts'
import { createCapabilityFolders } from '../custom-tools/share.ts'
import { createVersionStore } from '../custom-tools/versions.ts'
import type { SharedPlace } from '../fleet/shared-files.ts'
import type { Embedder } from '../memory/embedding/embedders.ts'
import type { AskModel } from '../memory/learning/ask-model.ts'
import type { Models } from '../models/model.ts'
import { createLocalVoice } from '../models/speech/local-voice.ts'
import { createTranscriber } from '../models/speech/transcriber.ts'
import { builderChannel } from '../protocol/messages.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { createGuardedFetch } from '../security/network/guarded-fetch.ts'
import { createPictureFetch, type FetchPictures } from '../security/network/picture-fetch.ts'
import { createSandboxProxy, openLoopbackProxy, type SandboxProxy } from '../security/network/sandbox-proxy.ts'
import type { Vault } from '../security/vault.ts'
import type { Database } from '../storage/database.ts'
import type { MediaStore } from '../storage/media-store.ts'
import { createFetches } from '../tools/builtin/fetches.ts'
import { createOutsideTools } from '../tools/builtin/outside-tools.ts'
import { createClientContexts } from '../tools/client-context.ts'
import { createMcpLogins } from '../tools/mcp/login.ts'
import { createMcpTools } from '../tools/mcp/mcp-tools.ts'
import { createToolRegistry, type ToolAudit, type ToolRegistry } from '../tools/registry.ts'
import type { Tool } from '../tools/tool.ts'
import type { Essentials } from './daemon.ts'
import { version } from './home-paths.ts'
import { policyOf } from './open-sandbox.ts'
import { createToolTriggers } from './scheduler/tool-triggers.ts'

export type OpenTools = ReturnType<typeof openTools>

/** The tools that reach beyond the conversation, wired: the web, programs, folders, servers, schedules. */
export function openTools(
  dependencies: Essentials & {
    registry: ToolRegistry
    /** Done to every tool of the Builder, as to those of the registry. */
    prepareTool(tool: Tool): Tool
    sandbox: Sandbox
    vault: Vault
    audit: ToolAudit
    media: MediaStore
    conversations: Conversations
    models: Models
    askModel: AskModel
    embedder: Embedder | undefined
    shared: SharedPlace | undefined
    useRoles: Roles['use']
    onBuildStep: OnBuildStep | undefined
    ownerId: string
    environment: () => Readonly<Record<string, string>>
  },
) {
  const { config, paths, registry, sandbox, media, database, clock, logger } = dependencies
  const runChild = createRunChild({ clock })
  const environment = plainEnvironment(dependencies.environment())
  const searchPath = environment.PATH ?? '/usr/local/bin:/usr/bin:/bin'
  const voice = openVoice({ ...dependencies, folder: paths.voice, runChild, searchPath })
  const outside = createOutsideTools({
    settings: () => config().tools,
    allowedHosts: () => config().egress.allowedHosts,
    openFetch: (allowedHosts) => createGuardedFetch({ allowedHosts }),
    openProxy: () => openLoopbackProxy(),
    runChild,
    putMedia: media.put,
    voice: voice.local,
    browserDirectory: paths.browserProfiles,
    environment,
    isRoot: process.getuid?.() === 0,
    clock,
  })
  for (const tool of outside.tools) registry.add(tool)
  const telemetry = createClientContexts({ database, clock })
  const listedHosts = () => config().egress.allowedHosts
  const proxy = createSandboxProxy({ directory: paths.run, logger, listedHosts })
  const mcp = createMcpTools({
    ...dependencies,
    servers: () => config().mcp.servers,
    environment: (name) => dependencies.environment()[name],
    workingDirectory: paths.workspace,
    allowedHosts: listedHosts,
    logins: createMcpLogins({ ...dependencies, userId: dependencies.ownerId }),
    version,
    putMedia: media.put,
  })
  const { pythonIndexUrl: indexUrl } = dependencies.atStart.sandbox
  const packages = createPythonPackages({
    directory: join(paths.cache, 'python'),
    sandbox,
    proxy,
    ...(indexUrl !== null && { index: packageIndexAt(indexUrl) }),
  })
  const { npmRegistryUrl } = dependencies.atStart.sandbox
  const node = createNodePackages({
    directory: join(paths.cache, 'node'),
    sandbox,
    proxy,
    npm: () => findNpm(),
    ...(npmRegistryUrl !== null && { registry: npmRegistryUrl }),
  })
  const fetchPictures = createPictureFetch({ listedHosts })
  const contract = createContractTools({
    ...dependencies,
    packages,
    roots: [
      { path: paths.tools, isPrivate: true },
      ...dependencies.atStart.tools.directories.map((path) => ({ path, isPrivate: false })),
    ],
    cacheDirectory: paths.cache,
    isEnabled: () => config().tools.enabled,
    proxy,
    fetchPictures,
    telemetry: telemetry.telemetryFor,
  })
  const opened = openCapabilities({ ...dependencies, packages, proxy, fetchPictures })
  dependencies.useRoles(opened.roles)
  const triggers = createToolTriggers({
    ...dependencies,
    tools: () => (config().tools.enabled ? contract.triggered() : []),
    run: contract.catalog.run,
    show: contract.catalog.show,
  })
  const unfollow = contract.onChange(triggers.refresh)

  return {
    /** For what runs in the sandbox on the user's files. */
    packagesOf: createRunPackages({ sandbox, python: packages, node }),
    environment,
    catalog: contract.catalog,
    capabilities: opened.capabilities,
    triggers,
    telemetry,
    mcp,
    voice: { speaker: outside.speaker, transcriber: voice.transcriber },
    start: opened.start,
    /** Finds the tools of folders and MCP servers. After `start`. */
    async discover() {
      await telemetry.start()
      await Promise.all([contract.start(), mcp.refresh()])
    },
    async lead() {
      await opened.recover()
      await triggers.start()
    },
    async reload() {
      await mcp.refresh()
      triggers.refresh()
    },
    /** After another daemon wrote a decision of the owner about tools. */
    async readDecisions() {
      await Promise.all([contract.start(), mcp.refresh()])
    },
    async stop() {
      unfollow()
      await opened.close()
      await triggers.close()
      telemetry.close()
      await Promise.all([contract.close(), mcp.close(), outside.close(), voice.close()])
      await proxy.close()
    },
  }
}

/** The environment of commands on this machine: nothing that could be a secret. */
function plainEnvironment(environment: Readonly<Record<string, string>>): Record<string, string> {
  const names = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TERM', 'SHELL', 'TMPDIR']
  return Object.fromEntries(names.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])))
}

/** Builds as sessions of the same loop: a build is a message to the Builder, and its turn is the work. */
function createBuildWork({ conversations, database }: { conversations: Conversations; database: Database }): BuildWork {
  async function find({ id, userId }: Build) {
    return database.read
      .selectFrom('sessions')
      .leftJoin('inbox', (join) => join.onRef('inbox.session_id', '=', 'sessions.id').on('inbox.state', '!=', 'done'))
      .select(['sessions.id as sessionId', 'inbox.id as openMessage'])
      .where('sessions.user_id', '=', userId)
      .where('sessions.channel', '=', builderChannel)
      .where('sessions.contact', '=', id)
      .where('sessions.state', '=', 'active')
      .executeTakeFirst()
  }

  return {
    async begin(build, text) {
      await conversations.submit({
        userId: build.userId,
        channel: builderChannel,
        contact: build.id,
        sender: 'familiar',
        source: builderChannel,
        text,
        media: [],
        // The same build is the same message.
        key: `build:${build.id}`,
        immediate: true,
        metadata: {},
        label: build.request.seen.untrusted ? 'untrusted' : 'internal',
      })
    },
    async stop(build) {
      const session = await find(build)
      if (session) await conversations.stop(build.userId, session.sessionId)
    },
    async state(build) {
      const session = await find(build)
      if (!session) return 'unbegun'
      return session.openMessage === null ? 'over' : 'alive'
    },
  }
}

/** The tools that Familiar builds itself, wired. */
function openCapabilities(
  dependencies: Parameters<typeof openTools>[0] & {
    proxy: Pick<SandboxProxy, 'open'>
    fetchPictures: FetchPictures
    packages: PythonPackages
  },
) {
  const { config, paths, registry, models, sandbox, vault, audit, logger, onBuildStep } = dependencies
  const onStep = onBuildStep && { onStep: onBuildStep }
  const isEnabled = () => config().tools.enabled
  const versions = createVersionStore({ directory: paths.capabilities, shared: dependencies.shared?.capabilities })
  const catalog = createCapabilityCatalog({ ...dependencies, versions })
  const search = createCapabilitySearch({ ...dependencies, catalog })
  const executor = createCapabilityExecutor(dependencies)
  const gate = createCapabilityGate({ ...dependencies, executor, catalog, directory: join(paths.cache, 'gate') })
  const runs = createCapabilityRuns({ ...dependencies, catalog, executor, isEnabled })
  const builds = createBuilds({
    ...dependencies,
    ...onStep,
    catalog,
    work: createBuildWork(dependencies),
    wakeups: createWakeups(),
    lifeMs: () => config().capabilities.buildMinutes * 60_000,
  })
  const repairs = createCapabilityRepairs({ ...dependencies, catalog, builds })
  const whyNot = () => whyNothingIsBuilt(models, sandbox)
  const prompt = createCapabilityPrompt(catalog)
  const mode = () => config().capabilities.repair
  const afterFailure = createAfterFailure({ repairs, mode, whyNot })
  registry.addShelf(createCapabilityShelf({ catalog, runs, afterFailure }))
  const tools = createCapabilityTools({ catalog, search, builds, runs, repairs, afterFailure, whyNot })
  for (const tool of [...tools, createAnswerBuild({ builds })]) registry.add(tool)
  const builderTools = createBuilderTools({
    ...dependencies,
    ...onStep,
    builds,
    gate,
    executor,
    directory: join(paths.cache, 'drafts'),
    policy: () => policyOf(config()),
  })
  const folders = createCapabilityFolders({ catalog, gate })
  const parts = { catalog, search, builds, runs, folders, repairs, audit, vault, whyNot }

  return {
    capabilities: createCapabilities(parts),
    roles: {
      builder: {
        // Core: there are seven, and the Builder cannot search for tools.
        tools: createToolRegistry(
          builderTools.map((tool) => ({ ...tool, core: true })),
          isEnabled,
          dependencies.prepareTool,
        ),
        system: [{ name: 'builder', layer: 'stable', text: builderPrompt }],
        maxRounds: () => config().capabilities.maxRounds,
      },
      lines: prompt.lines,
      search: search.search,
      async news({ userId, id }) {
        const { lines, builds: named, isUntrusted } = await builds.news({ userId, sessionId: id })
        if (lines.length === 0) return undefined
        return { lines, isUntrusted, onTold: (writer) => builds.markToldIn(writer, named) }
      },
      onBuilderEnded(session, { outcome, text }) {
        const why = { isStopped: outcome === 'stopped', reason: text }
        void builds.ended(session.contact, why).catch((error: unknown) => {
          logger.error('could not write the end of a build; it is written at the next start', {
            build: session.contact,
            error,
          })
        })
      },
    } satisfies CapabilityRoles,
    /** Loads the stored ones. Before the conversations recover, whose turns may call them. */
    async start() {
      await catalog.start()
      // A search waits for it; nothing else needs it.
      void search.start().catch((error: unknown) => logger.warn('capabilities are not indexed yet', { error }))
    },
    /** Resumes unfinished builds. After the conversations recovered. */
    recover: builds.recover,
    /** After the conversations, before the sandbox and the database. */
    async close() {
      prompt.close()
      await builds.close()
      await search.close()
    },
  }
}

async function whyNothingIsBuilt(models: Models, sandbox: Sandbox): Promise<string | undefined> {
  if (models.route('builder').every((model) => model.info.offline)) {
    return 'no language model is configured. familiar setup adds one.'
  }
  const { driver } = await sandbox.status()
  return driver === null ? 'no sandbox works on this machine. Run familiar doctor for details.' : undefined
}

/** Speech input and output. Nothing is loaded before its first use. */
function openVoice(needs: Essentials & { folder: string; runChild: RunChild; searchPath: string }) {
  const { config } = needs
  const local = createLocalVoice({ ...needs, transcriptionModel: () => config().voice.transcription.model })
  const fetches = createFetches((allowedHosts) => createGuardedFetch({ allowedHosts }))
  const transcriber = createTranscriber({
    ...needs,
    settings: () => config().voice.transcription,
    local,
    fetchReaching: fetches.reaching,
  })
  return {
    /** The models of this machine; other voices belong to the tools. */
    local,
    transcriber,
    async close() {
      await transcriber.close()
      await Promise.all([local.close(), fetches.close()])
    },
  }
}
