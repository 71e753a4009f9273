import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import type { Conversations } from '../agent/conversations.ts'
import type { OnStep } from '../agent/step.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { sha256 } from '../base/hash.ts'
import { createIds } from '../base/ids.ts'
import { openLogger } from '../base/logger.ts'
import { replaceFile } from '../base/safe-file.ts'
import { createHttpApp } from '../channels/http/create-http-app.ts'
import { createSecretLinks } from '../channels/http/secret-links/secret-links.ts'
import { serveHttp } from '../channels/http/serve-http.ts'
import { createLazyMcp } from '../channels/mcp/create-lazy-mcp.ts'
import type { OnOutboxStep } from '../channels/outbox/outbox-step.ts'
import type { OnTelegramStep } from '../channels/telegram/telegram-step.ts'
import { capsOf, capsOfBudget } from '../cost/caps-of-tier.ts'
import { createCosts } from '../cost/costs.ts'
import { type CostPeriod, reportCost } from '../cost/report.ts'
import { createGuardedFetch } from '../egress/guarded-fetch.ts'
import { createAccessTokens, localTokenId } from '../policy/access-tokens.ts'
import { createOneTimeLinks } from '../policy/one-time-links.ts'
import { createRateLimiter } from '../policy/rate-limiter.ts'
import { allowsTool } from '../policy/users/tier.ts'
import { createUsers } from '../policy/users/users.ts'
import { FamiliarError } from '../protocol/error.ts'
import { redactJson, redactStored } from '../secrets/redact-json.ts'
import { createRedactor } from '../secrets/redactor.ts'
import { createVault } from '../secrets/vault.ts'
import type { Database } from '../storage/database.ts'
import { openSqlite } from '../storage/sqlite/open-sqlite.ts'
import { watchWrites } from '../storage/watch-writes.ts'
import type { OnBuildStep } from '../tools/capabilities/builds/build-step.ts'
import { catalogOfTier } from '../tools/contract/catalog-of-tier.ts'
import type { Tool } from '../tools/tool.ts'
import { createToolAudit } from '../tools/tool-audit.ts'
import { openChannels } from './channels.ts'
import type { Config } from './config/config.ts'
import type { ConfigProblem } from './config/config-problem.ts'
import { loadConfig } from './config/load-config.ts'
import { createCore } from './core.ts'
import { writeDaemonInfo } from './daemon-info.ts'
import { acquireDaemonLock } from './daemon-lock.ts'
import { openHome } from './home.ts'
import { openHomeDesk } from './home-desk.ts'
import type { HomePaths } from './home-paths.ts'
import { httpMemory } from './http-memory.ts'
import { createModelSet } from './model-set.ts'
import { openSandbox } from './open-sandbox.ts'
import { openPage } from './page.ts'
import { openTools } from './tools.ts'
import { createRemoveUser } from './users/remove-user.ts'
import { openWorkspace } from './workspace.ts'

const packageInfo = createRequire(import.meta.url)('../../package.json') as { version: string }
export const version = packageInfo.version

export interface StartOptions {
  home: string
  env: Readonly<Record<string, string | undefined>>
  /** Over what the config says. */
  port?: number
  host?: string
  /** Lines for a person, beside the log file. */
  writeLine?: (line: string) => void
  /** Takes up the turns and messages that an earlier run left; not for a command that only looks. True by default. */
  recover?: boolean
  /** Makes the owner's token at the first start, to be shown once; not for a command that shows none. True by default. */
  makeToken?: boolean
  clock?: Clock
  extraTools?: readonly Tool[]
  onStep?: OnStep
  onBuildStep?: OnBuildStep
  onTelegramStep?: OnTelegramStep
  onOutboxStep?: OnOutboxStep
}

export interface Daemon {
  url: string
  /** An address that signs the owner's browser in, once; null where the page was not built. */
  signInLink(): Promise<string | null>
  paths: HomePaths
  database: Database
  conversations: Conversations
  ownerId: string
  /** Who answers now. */
  model(): string
  /** Made at the first start, and readable only now. */
  newToken: string | undefined
  /** For this machine's own command line, as long as the daemon runs. */
  credential: string
  warnings: readonly string[]
  recovered: { resumedTurns: number; queuedMessages: number; uncleanStop: boolean }
  /** Reads the config again. A broken one changes nothing and is told. */
  reload(): Promise<ConfigProblem[]>
  /** Finishes the running step (cut off after `graceMs`) and lets go of everything. Safe to call twice. */
  close(graceMs?: number): Promise<void>
}

export type StartResult =
  | { ok: true; daemon: Daemon }
  | { ok: false; reason: 'home' | 'database' | 'port'; message: string; hint: string }
  | { ok: false; reason: 'config'; problems: ConfigProblem[] }
  | { ok: false; reason: 'locked'; pid: number | null; url: string | null }

/** Starts Familiar in a home: the one place where everything is put together. What it opened, `close` closes. */
export async function startDaemon(options: StartOptions): Promise<StartResult> {
  const { home, env, clock = systemClock() } = options
  const opened = await openHome(home)
  if (!opened.ok) return { ok: false, reason: 'home', message: opened.message, hint: opened.hint }
  const { paths } = opened
  const loaded = loadConfig({ home, env, flags: flagsOf(options) })
  if (!loaded.ok) return { ok: false, reason: 'config', problems: loaded.problems }
  const lock = await acquireDaemonLock(home)
  if (!lock.ok) return { ok: false, reason: 'locked', pid: lock.pid, url: lock.url }

  const closers: (() => unknown)[] = [lock.release]
  const closeAll = async () => {
    for (const close of closers.splice(0).reverse()) await close()
  }
  try {
    return { ok: true, daemon: await assemble({ ...options, clock }, paths, loaded, closers, closeAll) }
  } catch (cause) {
    await closeAll()
    if (cause instanceof CannotListen) {
      const hint = 'Choose another one with --port or FAMILIAR_PORT, or another address with http.host.'
      return { ok: false, reason: 'port', message: cause.message, hint }
    }
    if (!(cause instanceof FamiliarError)) throw cause
    return { ok: false, reason: 'database', message: cause.message, hint: 'familiar doctor tells more.' }
  }
}

/** Of providers' keys the models tell the redactor themselves, with those that they find. */
function secretsOf({ token, memory, tools, mcp, telegram, callback, voice }: Config): string[] {
  const headers = Object.values(mcp.servers).flatMap((server) => ('url' in server ? Object.values(server.headers) : []))
  const keys = [
    token,
    memory.embedding.apiKey,
    tools.webSearch?.apiKey,
    tools.tts.apiKey,
    telegram?.token,
    callback?.secret,
    voice.transcription.apiKey,
  ]
  return [...keys.filter((key) => typeof key === 'string'), ...headers]
}

class CannotListen extends Error {}

function flagsOf({ port, host }: StartOptions): { port?: number; host?: string } {
  return { ...(port !== undefined && { port }), ...(host !== undefined && { host }) }
}

/** Bound to one address, the daemon is reached by its name; bound to all of them, the owner lists the names. */
function ownNames({ host, publicUrl }: Config['http']): string[] {
  const bound = host === '0.0.0.0' || host === '::' ? [] : [host]
  return publicUrl === null ? bound : [...bound, new URL(publicUrl).hostname]
}

async function assemble(
  options: StartOptions & { clock: Clock },
  paths: HomePaths,
  loaded: Extract<ReturnType<typeof loadConfig>, { ok: true }>,
  closers: (() => unknown)[],
  closeAll: () => Promise<void>,
): Promise<Daemon> {
  const { home, env, clock, writeLine, onStep } = options
  let { config, environment } = loaded
  const redactor = createRedactor()
  for (const secret of secretsOf(config)) redactor.add(secret)
  const logger = openLogger({
    level: config.log.level,
    clock,
    redact: redactor.redact,
    directory: paths.log,
    ...(writeLine && { writeLine, lineLevel: config.log.level === 'debug' ? 'debug' : 'warn' }),
  })
  closers.push(logger.close)

  const opened = await openSqlite({
    path: paths.database,
    clock,
    snapshotDirectory: paths.backups,
    log: logger,
    redact: (text) => redactStored(redactor, text),
  })
  const { database, onWrite } = watchWrites(opened)
  closers.push(database.close)
  const ids = createIds(clock)
  const vault = createVault({ database, keyFile: paths.key, clock, redactor })
  const secrets = await vault.teachRedactor()
  if (!secrets.ok) logger.warn('the secrets of tools cannot be read', { reason: secrets.message })
  const models = createModelSet({ ids, addSecret: redactor.add })
  closers.push(models.close)
  await models.use(config, loaded.environment)

  const tokens = createAccessTokens({ database, clock, ids })
  const owner = await tokens.ensureOwner('owner')
  await tokens.setEnvironmentToken(owner.id, config.token)
  const isFirst = (await tokens.list(owner.id)).length === 0
  const users = createUsers({ database, tokens, clock, ids, tiers: () => config.tiers, addSecret: redactor.add })
  await users.refresh()
  const newToken =
    isFirst && options.makeToken !== false ? (await tokens.createToken(owner.id, 'owner')).token : undefined
  const credential = randomBytes(32).toString('base64url')
  const credentialHash = sha256(credential)
  for (const secret of [credential, newToken]) if (secret) redactor.add(secret)

  const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone
  // Without the vault's key approvals do not outlive this run; nothing else depends on it.
  const approvalKey = await vault.deriveKey('approvals').catch(() => randomBytes(32))
  const audit = createToolAudit({ database, clock, ids, redact: redactor.redact })
  const core = createCore({
    database,
    models,
    config: () => config,
    workspace: paths.workspace,
    mediaDirectory: paths.media,
    publishMonitor: (state) =>
      replaceFile(paths.monitor, `${JSON.stringify(redactJson(redactor, state))}\n`).catch(reportMonitor),
    clock,
    ids,
    random: Math.random,
    logger,
    timeZone,
    users,
    ...(options.extraTools && { extraTools: options.extraTools }),
    audit,
    redactor,
    approvalKey: () => approvalKey,
    ...(onStep && { onStep }),
  })
  const { conversations } = core
  closers.push(core.close)
  const sandbox = openSandbox({
    settings: config.sandbox,
    directory: paths.sandbox,
    runtimeDirectory: loaded.environment.XDG_RUNTIME_DIR ?? null,
    logger,
  })
  closers.push(sandbox.close)
  const tools = openTools({
    ...core,
    registry: core.tools,
    models,
    config: () => config,
    paths,
    sandbox,
    vault,
    redactor,
    audit,
    database,
    ownerId: owner.id,
    environment: () => environment,
    version,
    clock,
    ids,
    logger,
    timeZone,
    ...(options.onBuildStep && { onBuildStep: options.onBuildStep }),
  })
  closers.push(tools.close)
  const costOf = (userId: string, period: CostPeriod) => reportCost(database, { userId, period, now: clock.now() })
  const workspace = openWorkspace({
    ...core,
    registry: core.tools,
    capabilities: tools.capabilities,
    costReport: costOf,
    redact: redactor.redact,
    config: () => config,
    paths,
    sandbox,
    database,
    ownerId: owner.id,
    timeZone,
    clock,
    ids,
    logger,
  })
  core.useWorkspace(workspace.roles)
  closers.push(workspace.close)
  await Promise.all([tools.prepare(), workspace.start()])

  function reportMonitor(cause: unknown): void {
    logger.warn('monitor.json was not written', { error: cause instanceof Error ? cause.message : String(cause) })
  }

  async function createSecretToken(...of: Parameters<typeof tokens.createToken>) {
    const made = await tokens.createToken(...of)
    redactor.add(made.token)
    return made
  }

  const startedAt = clock.now()
  // The port is taken before anything runs.
  const recovery = Promise.withResolvers<void>()
  const memory = httpMemory({
    ...core,
    database,
    databasePath: paths.database,
    spoolDirectory: paths.run,
    clock,
    timeZone,
  })
  const removeUser = createRemoveUser({
    database,
    users,
    conversations,
    builds: tools.capabilities.builds,
    exportMemories: memory.exportMemories,
    mediaDirectory: paths.media,
    capabilitiesDirectory: paths.capabilities,
    browserDirectory: paths.browserProfiles,
    clock,
  })
  let url = ''
  const baseUrl = () => config.http.publicUrl ?? url
  const links = createOneTimeLinks({ database, clock, ids })
  const secretLinks = createSecretLinks({ database, links, capabilities: tools.capabilities, baseUrl })
  const channels = openChannels({
    ...core,
    config: () => config,
    database,
    commands: workspace.commands,
    builds: tools.capabilities.builds,
    transcriber: tools.voice.transcriber,
    users,
    secretLink: secretLinks.secretLink,
    clock,
    ids,
    logger,
    ...(options.onTelegramStep && { onTelegramStep: options.onTelegramStep }),
    ...(options.onOutboxStep && { onOutboxStep: options.onOutboxStep }),
  })
  closers.push(channels.close)
  const mayUse = (userId: string, tool: string) => allowsTool(users.tierOf(userId), tool)
  // What an earlier run left stands in line before what comes in now.
  const patient: Conversations = {
    ...conversations,
    submit: (...message) => recovery.promise.then(() => conversations.submit(...message)),
    answerApproval: (answer) => recovery.promise.then(() => conversations.answerApproval(answer)),
  }
  const mcpServer = createLazyMcp({
    ...core,
    conversations: patient,
    name: config.agent.name,
    version,
    capabilities: tools.capabilities,
    skills: workspace.skills,
    assets: workspace.assets,
    allowsTool: mayUse,
    onWrite,
    redactor,
    clock,
    timeZone,
    logger,
  })
  const imageFetch = createGuardedFetch({ maxBytes: config.http.maxAttachmentBytes })
  closers.push(imageFetch.close)
  const page = openPage({ ...core, database, links, users, agentName: () => config.agent.name, baseUrl, clock, ids })
  const http = createHttpApp({
    links: { store: links, secrets: secretLinks },
    page,
    home: openHomeDesk({
      ...core,
      home,
      env,
      flags: flagsOf(options),
      config: () => config,
      models,
      sandbox,
      voice: tools.voice,
      baseUrl,
      clock,
    }),
    mcpServer,
    openai: { ...core, fetch: imageFetch },
    voice: tools.voice,
    outbox: channels.outbox,
    telegram: channels.telegram,
    conversations: patient,
    tokens: {
      verify: async (token) =>
        // Hashes are compared, so that the time it takes tells nothing of the credential.
        sha256(token) === credentialHash
          ? { userId: owner.id, isOwner: true, scope: 'owner', tokenId: localTokenId }
          : tokens.verify(token),
    },
    limiter: createRateLimiter({
      clock,
      requestsPerMinute: config.http.rateLimitPerMinute,
      failuresPerMinute: config.http.failedLoginsPerMinute,
    }),
    ...memory,
    users: { users, removeUser, tokens: { ...tokens, createToken: createSecretToken } },
    media: core.media,
    tools: catalogOfTier(tools.catalog, mayUse),
    capabilities: tools.capabilities,
    triggers: tools.triggers,
    telemetry: tools.telemetry,
    mcp: tools.mcp,
    redactor,
    costReport: costOf,
    costs: createCosts({ database, clock, caps: (id) => capsOf(users.tierOf(id), capsOfBudget(config.budget)) }),
    assets: workspace.assets,
    skills: workspace.skills,
    schedules: workspace.schedules,
    commands: workspace.commands,
    finders: workspace.finders,
    monitor: core.monitor.current,
    status: () => ({
      name: config.agent.name,
      version,
      uptimeSeconds: (clock.now() - startedAt) / 1_000,
      model: models.route('primary')[0]?.info.id ?? 'none',
    }),
    clock,
    logger,
    settings: { ...config.http, allowedHosts: [...config.http.allowedHosts, ...ownNames(config.http)] },
  })
  const server = await serveHttp({ ...http, host: config.http.host, port: config.http.port, logger }).catch((cause) => {
    throw new CannotListen(cause instanceof Error ? cause.message : String(cause), { cause })
  })
  closers.push(() => server.close(1_000))
  url = server.url
  await writeDaemonInfo(home, { url: server.url, credential })
  const recovered = options.recover === false ? { resumedTurns: 0, queuedMessages: 0 } : await conversations.recover()
  recovery.resolve()
  if (options.recover !== false) await core.recover(users.list().map(({ id }) => id))
  await tools.begin()
  await workspace.begin()
  // A command that only looks fetches and sends nothing.
  if (options.recover !== false) await channels.begin()
  logger.info('ready', { url: server.url, model: models.route('primary')[0]?.info.id, ...recovered })

  let closing: Promise<void> | undefined
  return {
    url: server.url,
    signInLink: async () => (page.files ? (await page.signInLink(owner.id)).url : null),
    paths,
    database,
    conversations,
    ownerId: owner.id,
    model: () => models.route('primary')[0]?.info.id ?? 'none',
    newToken,
    credential,
    warnings: loaded.warnings,
    recovered: { ...recovered, uncleanStop: database.recoveredFromUncleanStop },
    async reload() {
      const again = loadConfig({ home, env, flags: flagsOf(options) })
      if (!again.ok) return again.problems
      ;({ config, environment } = again)
      for (const secret of secretsOf(config)) redactor.add(secret)
      await models.use(config, environment)
      await tools.refresh()
      await workspace.refresh()
      logger.setLevel(config.log.level)
      logger.info('the config was read again')
      return []
    },
    close(graceMs = 10_000) {
      closing ??= (async () => {
        await conversations.close(graceMs)
        await closeAll()
      })()
      return closing
    },
  }
}
