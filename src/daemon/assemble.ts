import { randomBytes } from 'node:crypto'
import type { Conversations } from '../agent/conversations.ts'
import type { Clock } from '../base/clock.ts'
import { sha256 } from '../base/hash.ts'
import { createIds } from '../base/ids.ts'
import { openLogger } from '../base/logger.ts'
import { replaceFile } from '../base/safe-file.ts'
import { createWorkContext, logFieldsOf } from '../base/work-context.ts'
import { createHttpApp } from '../channels/http/create-http-app.ts'
import { createSecretLinks } from '../channels/http/secret-links/secret-links.ts'
import { serveHttp } from '../channels/http/serve-http.ts'
import { createLazyMcp } from '../channels/mcp/create-lazy-mcp.ts'
import { capsOf, capsOfBudget } from '../cost/caps-of-tier.ts'
import { createCosts } from '../cost/costs.ts'
import { type CostPeriod, reportCost } from '../cost/report.ts'
import { createGuardedFetch } from '../egress/guarded-fetch.ts'
import { watchUnits } from '../monitor/telemetry/watch-units.ts'
import { createAccessTokens, localTokenId } from '../policy/access-tokens.ts'
import { createOneTimeLinks } from '../policy/one-time-links.ts'
import { createRateLimiter } from '../policy/rate-limiter.ts'
import { allowsTool } from '../policy/users/tier.ts'
import { createUsers } from '../policy/users/users.ts'
import { redactJson, redactStored } from '../secrets/redact-json.ts'
import { createRedactor } from '../secrets/redactor.ts'
import { createVault } from '../secrets/vault.ts'
import { shareMedia } from '../sessions/media-store.ts'
import type { DaemonRole } from '../storage/fleet.ts'
import { watchWrites } from '../storage/watch-writes.ts'
import { catalogOfTier } from '../tools/contract/catalog-of-tier.ts'
import { createToolAudit } from '../tools/tool-audit.ts'
import { openChannels } from './channels.ts'
import type { Config } from './config/config.ts'
import type { ConfigProblem } from './config/config-problem.ts'
import { loadConfig } from './config/load-config.ts'
import { secretsOf } from './config/secrets-of.ts'
import { createCore } from './core.ts'
import { writeDaemonInfo } from './daemon-info.ts'
import { openHomeDesk } from './home-desk.ts'
import type { HomePaths } from './home-paths.ts'
import { httpMemory } from './http-memory.ts'
import { keyFileOf } from './key-file-of.ts'
import { createModelSet } from './model-set.ts'
import { openObservation } from './observation.ts'
import { openDatabase } from './open-database.ts'
import { openFleet } from './open-fleet.ts'
import { openSandbox } from './open-sandbox.ts'
import { openPage } from './page.ts'
import { openSharedPlace } from './shared-place.ts'
import type { Daemon, StartOptions } from './started-daemon.ts'
import { openTools } from './tools.ts'
import { createRemoveUser } from './users/remove-user.ts'
import { version } from './version.ts'
import { openWorkspace } from './workspace.ts'

/** A command that only looks takes no work. */
function roleOf({ recover, role = 'all' }: StartOptions): DaemonRole {
  return recover === false ? 'api' : role
}

export class CannotListen extends Error {}

export function flagsOf({ port, host }: StartOptions): { port?: number; host?: string } {
  return { ...(port !== undefined && { port }), ...(host !== undefined && { host }) }
}

/** Bound to one address, the daemon is reached by its name; bound to all of them, the owner lists the names. */
function ownNames({ host, publicUrl }: Config['http']): string[] {
  const bound = host === '0.0.0.0' || host === '::' ? [] : [host]
  return publicUrl === null ? bound : [...bound, new URL(publicUrl).hostname]
}

/**
 * Everything, wired; `closers` takes what has to be closed, in the order in which it was opened. Rejects with `CannotListen`
 * where the port is taken, and leaves the closing to its caller.
 */
export async function assemble(
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
  const work = createWorkContext()
  const logger = openLogger({
    context: () => logFieldsOf(work.current()),
    level: config.log.level,
    clock,
    redact: redactor.redact,
    directory: paths.log,
    ...(writeLine && { writeLine, lineLevel: config.log.level === 'debug' ? 'debug' : 'warn' }),
  })
  closers.push(logger.close)
  const observation = openObservation({ settings: config.telemetry, work, version, redact: redactor.redact, clock })
  closers.push(observation.close)

  const redact = (text: string) => redactStored(redactor, text)
  const opened = await openDatabase({ config, paths, clock, logger, redact })
  closers.push(opened.database.close)
  const ids = createIds(clock)
  const fleet = opened.postgres && (await openFleet(opened.postgres, { role: roleOf(options), clock, ids, logger }))
  if (fleet) closers.push(fleet.close)
  const { database, onWrite } = watchWrites(
    watchUnits(fleet ? fleet.tell(opened.database) : opened.database, observation.telemetry),
  )
  const shared = config.shared
    ? openSharedPlace({ settings: config.shared, cacheDirectory: paths.cache, clock, random: Math.random })
    : undefined
  if (shared) closers.push(shared.close)
  const vault = createVault({ database, keyFile: keyFileOf(config, paths), clock, redactor })
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
    telemetry: observation.telemetry,
    ...(shared && { shared }),
    ...(fleet && { fleet }),
    ...(onStep && { onStep }),
  })
  const { conversations } = core
  closers.push(core.close)
  observation.watch({ conversations, database })
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
    shared,
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
    shared,
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
    onWrite(listener) {
      const unfollow = [onWrite(listener), fleet?.onElsewhere(listener)]
      return () => {
        for (const stop of unfollow) stop?.()
      }
    },
    redactor,
    clock,
    timeZone,
    logger,
  })
  const imageFetch = createGuardedFetch({ maxBytes: config.http.maxAttachmentBytes })
  closers.push(imageFetch.close)
  const page = openPage({ ...core, database, links, users, agentName: () => config.agent.name, baseUrl, clock, ids })
  const http = createHttpApp({
    observation: observation.http,
    links: { store: links, secrets: secretLinks },
    ...(fleet?.role === 'worker' ? { worksOnly: true } : { page }),
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
  /** What is done once, however many daemons there are. */
  async function lead(): Promise<void> {
    if (options.recover !== false) await core.recover(users.list().map(({ id }) => id))
    await tools.lead()
    await workspace.begin()
    // A command that only looks fetches and sends nothing.
    if (options.recover !== false) await channels.begin()
  }

  await tools.begin()
  if (fleet) {
    fleet.follow({ ...core, users, vault, workspace, channels, tools, catalog: tools.capabilities.catalog })
    await core.takeTurns()
    if (fleet.role !== 'api') fleet.whenLeading(lead)
  } else await lead()
  observation.ready()
  if (shared) {
    shareMedia(paths.media, shared.media).catch((cause) => {
      logger.error('media of this home could not be put into the shared place', { error: String(cause) })
    })
  }
  logger.info('ready', { url: server.url, model: models.route('primary')[0]?.info.id, ...recovered })

  async function readConfig(): Promise<ConfigProblem[]> {
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
  }

  fleet?.notices.on('config', () => {
    readConfig().then((problems) => {
      if (problems.length > 0) logger.warn('the config has problems, so the one before stays in use', { problems })
    }, reportUnread)
  })

  function reportUnread(cause: unknown): void {
    logger.error('the config could not be read again', {
      error: cause instanceof Error ? cause.message : String(cause),
    })
  }

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
    recovered: { ...recovered, uncleanStop: opened.uncleanStop },
    lost: fleet?.lost ?? new Promise(() => undefined),
    async reload() {
      const problems = await readConfig()
      if (problems.length === 0) fleet?.notices.publish('config', null)
      return problems
    },
    close(graceMs = 10_000) {
      observation.draining()
      closing ??= (async () => {
        // At once: what this daemon does not begin any more is for others to begin.
        const drained = fleet?.jobs.drain()
        await conversations.close(graceMs)
        await drained
        await closeAll()
      })()
      return closing
    },
  }
}
