import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { createCosts, reportCost } from '../../src/agent/costs.ts'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { createIds } from '../../src/base/ids.ts'
import { type Logger, silentLogger } from '../../src/base/logger.ts'
import { createSilentTelemetry, type Telemetry } from '../../src/base/telemetry/telemetry.ts'
import type { Outbox } from '../../src/channels/create-outbox.ts'
import { createOutbox } from '../../src/channels/create-outbox.ts'
import { catalogOfPlan, createContractTools } from '../../src/custom-tools/catalog.ts'
import { createPythonPackages } from '../../src/custom-tools/packages.ts'
import { createSkills } from '../../src/custom-tools/skills.ts'
import { openHomeDesk } from '../../src/daemon/home-desk.ts'
import { homePaths } from '../../src/daemon/home-paths.ts'
import { httpMemory } from '../../src/daemon/memory.ts'
import { createPageService } from '../../src/daemon/page.ts'
import { createRemoveUser } from '../../src/daemon/remove-user.ts'
import { createSchedules } from '../../src/daemon/scheduler/create-schedules.ts'
import { createToolTriggers } from '../../src/daemon/scheduler/tool-triggers.ts'
import type { RunTool, TriggeredTool } from '../../src/daemon/scheduler/trigger-runs.ts'
import { createSearch } from '../../src/daemon/search.ts'
import { createSetupDesk } from '../../src/daemon/setup-desk.ts'
import type { SharedPlace } from '../../src/fleet/shared-files.ts'
import { createHttpApp } from '../../src/http/app.ts'
import type { HttpSettings } from '../../src/http/dependencies.ts'
import { type GuardName, guardNames } from '../../src/http/guards.ts'
import { createFamiliarMcp } from '../../src/http/mcp/familiar-mcp.ts'
import type { Route } from '../../src/http/route.ts'
import { createSecretLinks, type SecretLinks } from '../../src/http/secret-links.ts'
import { type HttpServer, type ServerLimits, serveHttp } from '../../src/http/server.ts'
import type { Embedder } from '../../src/memory/embedding/embedders.ts'
import type { LanguageModel, Purpose } from '../../src/models/model.ts'
import type { ToolDetails } from '../../src/protocol/tools.ts'
import { createSandbox, type Sandbox } from '../../src/sandbox/sandbox.ts'
import { createGuardedFetch } from '../../src/security/network/guarded-fetch.ts'
import { createSandboxProxy } from '../../src/security/network/sandbox-proxy.ts'
import { createRedactor } from '../../src/security/redactor.ts'
import { createOneTimeLinks } from '../../src/security/sign-in.ts'
import { createAccessTokens, createRateLimiter, localTokenId, type MadeToken } from '../../src/security/tokens.ts'
import { allowsTool, type Users } from '../../src/security/users.ts'
import { createVault } from '../../src/security/vault.ts'
import { createClientContexts } from '../../src/tools/client-context.ts'
import { createFileTexts } from '../../src/tools/files/file-texts.ts'
import { createFinders } from '../../src/tools/files/finders.ts'
import { openAssets } from '../../src/tools/files/open-assets.ts'
import { createMcpLogins } from '../../src/tools/mcp/login.ts'
import { createMcpTools } from '../../src/tools/mcp/mcp-tools.ts'
import { createToolRegistry } from '../../src/tools/registry.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { openTelegramDesk } from '../support/fake-telegram/open-telegram-desk.ts'
import { openScriptedFamiliar, type ScriptedFamiliar } from '../support/scripted-familiar.ts'
import { createScriptedModel } from '../support/scripted-model.ts'
import { openServedCapabilities, type ServedCapabilities } from '../support/served-capabilities.ts'
import { createServedVoice, type ServedVoice } from '../support/served-voice.ts'
import { unknownTool } from '../support/triggers.ts'
import { createUnsandboxedDriver } from '../support/unsandboxed-driver.ts'
import { fileless, noPackages } from '../support/workbench.ts'

export const bodyLimit = 4096
export const attachmentLimit = 3000

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
  json: Record<string, unknown>
}

export interface Call {
  method?: string
  path: string
  /** As they are; `Host` is the server's own unless given, and none at all where it is null. */
  headers?: Record<string, string | null>
  /** Text is sent as it is, anything else as JSON. */
  body?: unknown
  /** Without saying how long it is. */
  chunked?: boolean
  token?: string | null
  /** Ends the connection. */
  signal?: AbortSignal
}

export interface ServedFamiliar {
  familiar: ScriptedFamiliar
  server: HttpServer
  routes: readonly Route[]
  /** The paths of the router itself, whatever the list above says. */
  routerPaths: { method: string; path: string }[]
  owner: MadeToken
  /** The credential of this machine's command line, which is not a token. */
  localToken: string
  capabilities: ServedCapabilities
  secretLinks: SecretLinks
  /** Items put there are not sent. */
  outbox: Outbox
  tokens: ReturnType<typeof createAccessTokens>
  users: Users
  tokenFor(scope: 'owner' | 'chat' | 'read', userId?: string): Promise<string>
  call(call: Call): Promise<Answer>
  open(call: Call): Promise<{ request: ClientRequest; response: IncomingMessage }>
  close(): Promise<void>
}

/** Familiar behind a real socket, with a real database and a scripted model. */
export async function serveFamiliar(
  options: {
    model?: LanguageModel | Partial<Record<Purpose, LanguageModel[]>>
    tools?: Tool[]
    clock?: Clock
    logger?: Logger
    toml?: string
    settings?: Partial<HttpSettings>
    limits?: Partial<ServerLimits>
    requestsPerMinute?: number
    failuresPerMinute?: number
    without?: GuardName
    /** Tools that run without being asked, all with this secret. */
    triggered?: { tools: TriggeredTool[]; run: RunTool; secret: string }
    /** Files of tools that are folders, by the name of the tool. */
    folderTools?: Record<string, Record<string, string>>
    /** For `/v1/embeddings`; off where none is given. */
    embedder?: Embedder
    /** Switched off where none is given. */
    voice?: ServedVoice
    /** The SKILL.md of skills in the workspace, by their name. */
    skills?: Record<string, string>
    /** Files of the home's workspace, blocks and pins are served, too. */
    assets?: true
    /** The telemetry in use; silent by default. */
    telemetry?: Telemetry
    isReady?: () => Promise<boolean>
    /** A user's files beside the home, deleted with them. */
    shared?: SharedPlace
    /** The sandbox of capabilities. Without one, none of them runs. The caller closes it. */
    sandbox?: Sandbox
  } = {},
): Promise<ServedFamiliar> {
  const clock = options.clock ?? systemClock()
  const model = options.model ?? createScriptedModel({ script: () => ({ text: 'Hello.' }) })
  const familiar = await openScriptedFamiliar({
    model,
    clock,
    ...(options.toml && { toml: options.toml }),
    ...(options.tools && { tools: options.tools }),
  })
  const { database, userId } = familiar
  const tokens = createAccessTokens({ database, clock, ids: createIds(clock) })
  const owner = await tokens.createToken(userId, 'owner')
  const { triggered } = options
  const redactor = createRedactor()
  const vault = createVault({ database, clock, keyFile: join(familiar.home, 'key'), redactor })
  for (const { name } of triggered?.tools ?? []) {
    await vault.set({ userId, owner: `tool:${name}`, name: 'webhook' }, triggered?.secret ?? '')
  }
  const triggers = createToolTriggers({
    tools: () => triggered?.tools ?? [],
    show: async (_user, name) => detailsOf(triggered?.tools.find((tool) => tool.name === name)),
    run: (request) => (triggered ? triggered.run(request) : Promise.reject(new Error('There are no tools'))),
    conversations: familiar.conversations,
    vault,
    database,
    clock,
    ids: createIds(clock),
    timeZone: 'UTC',
    ownerId: userId,
    logger: options.logger ?? silentLogger,
  })
  await triggers.start()
  const schedules = createSchedules({
    database,
    conversations: familiar.conversations,
    readHeartbeat: async () => undefined,
    clock,
    ids: createIds(clock),
    timeZone: 'UTC',
    logger: options.logger ?? silentLogger,
  })
  await schedules.start()
  const outbox = createOutbox({ database, clock, ids: createIds(clock), logger: options.logger ?? silentLogger })
  const telemetry = createClientContexts({ database, clock })
  const toolsDirectory = join(familiar.home, 'tools')
  for (const [name, files] of Object.entries(options.folderTools ?? {})) {
    mkdirSync(join(toolsDirectory, name), { recursive: true })
    for (const [file, text] of Object.entries(files)) writeFileSync(join(toolsDirectory, name, file), text)
  }
  const sandbox = createSandbox(async () => [createUnsandboxedDriver()])
  const proxy = createSandboxProxy({ directory: familiar.home, logger: silentLogger })
  const packages = createPythonPackages({ directory: join(familiar.home, 'cache', 'python'), sandbox, proxy })
  const contractTools = createContractTools({
    roots: [{ path: toolsDirectory, isPrivate: true }],
    cacheDirectory: join(familiar.home, 'cache'),
    registry: createToolRegistry([], () => true),
    isEnabled: () => true,
    sandbox,
    proxy,
    packages,
    vault,
    audit: familiar.audit,
    database,
    redactor,
    clock,
    logger: silentLogger,
  })
  await contractTools.start()
  await contractTools.settled()
  const capabilities = await openServedCapabilities({
    ...familiar,
    vault,
    redactor,
    sandbox: options.sandbox ?? sandbox,
    proxy,
    packages,
    clock,
  })
  let url = ''
  const links = createOneTimeLinks({ database, clock, ids: createIds(clock) })
  const secretLinks = createSecretLinks({
    database,
    links,
    capabilities: capabilities.capabilities,
    baseUrl: () => url,
  })
  const localToken = `local-${randomUUID()}`
  const imageFetch = createGuardedFetch()
  const mcp = createMcpTools({
    servers: () => ({}),
    environment: () => undefined,
    workingDirectory: familiar.home,
    allowedHosts: () => [],
    logins: createMcpLogins({ vault, redactor, userId: familiar.userId }),
    version: '0.0.0',
    database,
    registry: createToolRegistry(),
    putMedia: familiar.media.put,
    clock,
    logger: options.logger ?? silentLogger,
  })
  const skillsDirectory = join(familiar.home, 'workspace', 'skills')
  for (const [name, text] of Object.entries(options.skills ?? {})) {
    mkdirSync(join(skillsDirectory, name), { recursive: true })
    writeFileSync(join(skillsDirectory, name, 'SKILL.md'), text)
  }
  const skills = createSkills({
    directory: skillsDirectory,
    directories: () => [],
    cacheDirectory: join(familiar.home, 'cache'),
    isEnabled: () => true,
    sandbox,
    workbench: fileless({ sandbox, clock }),
    packagesOf: noPackages,
    ownerId: familiar.userId,
    database,
    clock,
    logger: silentLogger,
  })
  if (options.skills) await skills.reload()
  const memory = httpMemory({
    ...familiar,
    spoolDirectory: familiar.home,
    clock,
    timeZone: 'UTC',
  })
  const { users } = familiar
  const removeUser = createRemoveUser({
    ...familiar,
    ...memory,
    users,
    builds: capabilities.capabilities.builds,
    paths: homePaths(familiar.home),
    shared: options.shared,
    clock,
  })
  const assets = openAssets({
    database,
    clock,
    budget: () => 1_000,
    boundsOf: (user) => ({
      roots: user === userId ? [{ path: join(familiar.home, 'workspace'), trust: 'owner' }] : [],
      closed: [familiar.home],
    }),
  })
  const mcpServer = createFamiliarMcp({
    ...familiar,
    ...memory,
    ...(options.assets && { assets }),
    name: 'Familiar',
    version: '0.0.0',
    capabilities: capabilities.capabilities,
    skills,
    allowsTool: (user, name) => allowsTool(users.planOf(user), name),
    redactor,
    clock,
    logger: options.logger ?? silentLogger,
  })
  const page = createPageService({
    ...familiar,
    builds: capabilities.capabilities.builds,
    links,
    users,
    agentName: () => 'Familiar',
    commandLine: (words) => `familiar ${words}`,
    baseUrl: () => server.url,
    clock,
    ids: createIds(clock),
  })
  const finders = createFinders({
    rootsOf: (user) => (user === userId ? [join(familiar.home, 'workspace')] : []),
    closed: [familiar.home],
    labelsOf: async () => [],
    clock,
  })
  const search = createSearch({
    ...familiar,
    memories: familiar.memory.memories,
    files: familiar.memory.files,
    texts: createFileTexts({ finders, assets: assets.assets, clock }),
    tools: catalogOfPlan(contractTools.catalog, (user, name) => allowsTool(users.planOf(user), name)),
    capabilities: capabilities.capabilities,
    schedules,
    settings: () => [{ key: 'zanzibar.setting' }],
  })
  const http = createHttpApp({
    page,
    search,
    observation: {
      telemetry: options.telemetry ?? createSilentTelemetry(),
      health: { isReady: options.isReady ?? (async () => true) },
    },
    ...(options.assets && { assets }),
    mcpServer,
    openai: { ...familiar, embedder: options.embedder, fetch: imageFetch },
    users: { users, removeUser, tokens },
    telegram: openTelegramDesk({ database, users, clock }),
    setup: createSetupDesk({
      home: familiar.home,
      env: {},
      flags: {},
      paths: homePaths(familiar.home),
      clock,
      ownerId: userId,
      vault,
      models: familiar.modelsOf(userId),
      environment: () => ({}),
      stored: () => ({}),
      reload: async () => [],
      restartNeeded: () => [],
    }),
    home: openHomeDesk({
      ...familiar,
      env: {},
      flags: {},
      sandbox,
      clock,
      voice: options.voice ?? createServedVoice(),
      models: { ...familiar.modelsOf(userId), providers: () => [] },
      config: () => familiar.config,
      stored: () => ({}),
      restartNeeded: () => [],
      reload: async () => [],
      baseUrl: () => url,
    }),
    tools: catalogOfPlan(contractTools.catalog, (user, name) => allowsTool(users.planOf(user), name)),
    capabilities: capabilities.capabilities,
    triggers,
    links: { store: links, secrets: secretLinks },
    telemetry,
    voice: options.voice ?? createServedVoice(),
    schedules,
    outbox,
    mcp,
    skills,
    conversations: familiar.conversations,
    permissions: familiar.permissions,
    tokens: {
      verify: async (token) =>
        token === localToken ? { userId, isOwner: true, scope: 'owner', tokenId: localTokenId } : tokens.verify(token),
    },
    limiter: createRateLimiter({
      clock,
      requestsPerMinute: options.requestsPerMinute ?? 1_000_000,
      failuresPerMinute: options.failuresPerMinute ?? 1_000_000,
    }),
    ...memory,
    media: familiar.media,
    costReport: (user, period) => reportCost(database, { userId: user, period, now: clock.now() }),
    costs: createCosts({
      database,
      clock,
      limits: () => ({ perMessageNanousd: 500_000_000, perDayNanousd: 5_000_000_000, perMonthNanousd: null }),
    }),
    monitor: familiar.monitor.current,
    status: () => ({ name: 'Familiar', version: '0.0.0', uptimeSeconds: 1, model: 'scripted/main' }),
    clock,
    logger: options.logger ?? silentLogger,
    settings: {
      allowedHosts: [],
      allowedOrigins: [],
      maxBodyBytes: bodyLimit,
      maxAttachmentBytes: attachmentLimit,
      maxImportBytes: bodyLimit,
      maxHookBytes: bodyLimit,
      ...options.settings,
    },
    guards: guardNames.filter((name) => name !== options.without),
  })
  const server = await serveHttp({
    ...http,
    host: '127.0.0.1',
    port: 0,
    ...(options.limits && { limits: options.limits }),
  })
  url = server.url

  async function open(call: Call): Promise<{ request: ClientRequest; response: IncomingMessage }> {
    const token = call.token === undefined ? owner.token : call.token
    const json = typeof call.body === 'string' || call.body === undefined ? call.body : JSON.stringify(call.body)
    const headers: Record<string, string | null> = {
      host: `127.0.0.1:${server.port}`,
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...(json !== undefined && !call.chunked && { 'content-length': String(Buffer.byteLength(json)) }),
      ...call.headers,
    }
    const sent = Object.fromEntries(Object.entries(headers).flatMap(([k, v]) => (v === null ? [] : [[k, v]])))
    return new Promise((resolve, reject) => {
      const outgoing = request({
        host: '127.0.0.1',
        port: server.port,
        method: call.method ?? (json === undefined ? 'GET' : 'POST'),
        path: call.path,
        headers: sent,
        setHost: false,
        agent: false,
        ...(call.signal && { signal: call.signal }),
      })
      outgoing.on('response', (response) => resolve({ request: outgoing, response }))
      outgoing.on('error', reject)
      if (json !== undefined && call.chunked) outgoing.write(json)
      outgoing.end(call.chunked ? undefined : json)
    })
  }

  return {
    familiar,
    server,
    routes: http.routes,
    routerPaths: http.app.routes.filter(({ method }) => method !== 'ALL').map(({ method, path }) => ({ method, path })),
    owner,
    localToken,
    capabilities,
    secretLinks,
    outbox,
    tokens,
    users,
    tokenFor: async (scope, user = userId) => (await tokens.createToken(user, scope)).token,
    open,
    async call(call) {
      const { response } = await open(call)
      return readAnswer(response)
    },
    async close() {
      await server.close(0)
      await triggers.close()
      await schedules.close()
      await outbox.close()
      await contractTools.close()
      await capabilities.close()
      telemetry.close()
      await mcp.close()
      await skills.close()
      await imageFetch.close()
      await finders.close()
      await familiar.close()
    },
  }
}

function detailsOf(tool: TriggeredTool | undefined): ToolDetails | undefined {
  return tool && { ...unknownTool, name: tool.name, trigger: tool.trigger.kind }
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString('utf8')
  const isJson = response.headers['content-type']?.startsWith('application/json')
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text,
    json: isJson && text ? JSON.parse(text) : {},
  }
}

export interface ReceivedEvent {
  id: string
  name: string
  data: Record<string, unknown>
}

/** Reads server-sent events until `done` says so, or the stream ends. Comments come as events named `:`. */
export async function readEvents(
  response: IncomingMessage,
  done: (event: ReceivedEvent) => boolean = () => false,
): Promise<ReceivedEvent[]> {
  const events: ReceivedEvent[] = []
  let rest = ''
  response.setEncoding('utf8')
  for await (const chunk of response) {
    const blocks = (rest + chunk).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = parseEvent(block)
      events.push(event)
      if (done(event)) return events
    }
  }
  return events
}

function parseEvent(block: string): ReceivedEvent {
  if (block.startsWith(':')) return { id: '', name: ':', data: {} }
  const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]))
  const event = { id: fields.get('id') ?? '', name: fields.get('event') ?? '' }
  return { ...event, data: JSON.parse(fields.get('data') ?? '{}') }
}

/** A path of the route, with a session that exists in place of the parameter, and a tool that need not. */
export function pathOf(route: { path: string }, sessionId: string): string {
  return route.path.replace(':id', sessionId).replace(/:(tool|name)/, 'mail')
}
