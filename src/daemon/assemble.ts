import { randomBytes } from 'node:crypto'
import { statfs } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Conversations } from '../agent/conversations.ts'
import { type CostPeriod, createCosts, reportCost } from '../agent/costs.ts'
import { limitsOfBudget, limitsOfPlan } from '../agent/ledger.ts'
import type { Clock } from '../base/clock.ts'
import { replaceFile } from '../base/files.ts'
import { createIds, sha256 } from '../base/ids.ts'
import { openLogger } from '../base/logger.ts'
import { reasonOf } from '../base/text.ts'
import { createWorkContext, logFieldsOf } from '../base/work.ts'
import { catalogOfPlan } from '../custom-tools/catalog.ts'
import { createHttpApp } from '../http/app.ts'
import { createLazyMcp } from '../http/mcp/mcp-caller.ts'
import { createSecretLinks } from '../http/secret-links.ts'
import { serveHttp } from '../http/server.ts'
import { createModelSet } from '../models/model-set.ts'
import { createGuardedFetch } from '../security/network/guarded-fetch.ts'
import { createRedactor, redactJson, redactStored } from '../security/redactor.ts'
import { createOneTimeLinks } from '../security/sign-in.ts'
import { createAccessTokens, createRateLimiter, localTokenId } from '../security/tokens.ts'
import { allowsTool, createUsers } from '../security/users.ts'
import { createVault } from '../security/vault.ts'
import { watchUnits, watchWrites } from '../storage/database.ts'
import { shareMedia } from '../storage/media-store.ts'
import { createFileTexts } from '../tools/files/file-texts.ts'
import { createToolAudit } from '../tools/registry.ts'
import { openChannels } from './channels.ts'
import type { Config, ConfigProblem, ReloadableConfig, RestartConfig } from './config/config.ts'
import type { StoredKeys } from './config/environment.ts'
import { followConfigFiles, restartNeeded } from './config/follow-config.ts'
import { loadConfig } from './config/load-config.ts'
import { configSecrets } from './connect-model.ts'
import { createCore } from './core.ts'
import type { Components, Essentials, StartOptions } from './daemon.ts'
import { writeDaemonInfo } from './daemon-lock.ts'
import { openDatabase } from './doctor/check-database.ts'
import { describeSettings, openHomeDesk } from './home-desk.ts'
import { createCommandLine, type HomePaths, keyFileOf, version } from './home-paths.ts'
import { httpMemory } from './memory.ts'
import { openObservation } from './observation.ts'
import { openFleet, openSharedPlace, soleDaemon } from './open-fleet.ts'
import { openSandbox } from './open-sandbox.ts'
import { createPageService } from './page.ts'
import { createRemoveUser } from './remove-user.ts'
import { createSearch } from './search.ts'
import { createSetupDesk } from './setup-desk.ts'
import { openTools } from './tools.ts'
import { openWorkspace } from './workspace.ts'

/** How long the first turns wait for tools that are still being read. */
const toolsPatienceMs = 5_000

export class CannotListen extends Error {}

export function flagsOf({ port, host }: StartOptions): { port?: number; host?: string } {
  return { ...(port !== undefined && { port }), ...(host !== undefined && { host }) }
}

/** Bound to one address, the daemon is reached by that name. Bound to all addresses, the owner lists the names. */
function ownNames({ host, publicUrl }: Config['http']): string[] {
  const bound = host === '0.0.0.0' || host === '::' ? [] : [host]
  return publicUrl === null ? bound : [...bound, new URL(publicUrl).hostname]
}

/**
 * Wires everything. Each part that has a life cycle is added to `components`, which the caller starts and stops. Nothing
 * runs before `listen`; `startDaemon` calls the returned phases in order.
 */
export async function assemble(
  options: StartOptions & { clock: Clock },
  paths: HomePaths,
  loaded: Extract<ReturnType<typeof loadConfig>, { ok: true }>,
  components: Components,
) {
  const { home, env, clock, writeLine, onStep } = options
  let stored: StoredKeys = {}
  const load = () => loadConfig({ home, env, flags: flagsOf(options), stored })
  let atStart: RestartConfig = loaded.config
  let { config: current, environment, warnings } = loaded
  const config = (): ReloadableConfig => current
  const changedSinceStart = () => restartNeeded(atStart, current)
  const redactor = createRedactor()
  const learnSecrets = () => secretsOf(current).forEach(redactor.add)
  learnSecrets()
  const work = createWorkContext()
  const { level } = config().log
  const logger = openLogger({
    context: () => logFieldsOf(work.current()),
    level,
    clock,
    redact: redactor.redact,
    directory: paths.log,
    ...(writeLine && { writeLine, lineLevel: level === 'debug' ? 'debug' : 'warn' }),
  })
  components.add({ reload: () => logger.setLevel(config().log.level), stop: logger.close })
  const observation = openObservation({
    settings: atStart.telemetry,
    work,
    version,
    redact: redactor.redact,
    clock,
    freeBytes: async () => {
      const { bavail, bsize } = await statfs(home)
      return bavail * bsize
    },
  })
  components.add({ stop: observation.close })
  const { telemetry } = observation

  const redact = (text: string) => redactStored(redactor, text)
  const opened = await openDatabase({ config: current, paths, clock, logger, redact })
  components.add({ stop: opened.database.close })
  const ids = createIds(clock)
  // A command that only reads runs no turns.
  const role = options.recover === false ? 'api' : (options.role ?? 'all')
  const fleet = components.add(
    opened.postgres ? await openFleet(opened.postgres, { role, clock, ids, logger }) : soleDaemon,
  )
  const { database, onWrite } = watchWrites(watchUnits(fleet.tell(opened.database), telemetry))
  const shared = atStart.shared
    ? components.add(
        openSharedPlace({ settings: atStart.shared, cacheDirectory: paths.cache, clock, random: Math.random }),
      )
    : undefined
  const vault = createVault({ database, keyFile: keyFileOf(atStart, paths), clock, redactor })
  const secrets = await vault.teachRedactor()
  if (!secrets.ok) logger.warn('cannot read the secrets of tools', { reason: secrets.message })
  const tokens = createAccessTokens({ database, clock, ids })
  const owner = await tokens.ensureOwner('owner')
  const ownerId = owner.id

  async function readStoredKeys(): Promise<void> {
    stored = await vault.values(ownerId, configSecrets).catch((cause: unknown) => {
      logger.warn('cannot read the keys in the vault', { reason: reasonOf(cause) })
      return {}
    })
  }

  await readStoredKeys()
  if (Object.keys(stored).length > 0) {
    const again = load()
    if (again.ok) {
      ;({ config: current, environment, warnings } = again)
      atStart = again.config
      learnSecrets()
    }
  }
  const commandLine = createCommandLine({ home, env })
  const installCommand = (name: string) => commandLine(`models install ${name}`)
  const models = createModelSet({
    ids,
    addSecret: redactor.add,
    packages: { directory: paths.packages, installCommand },
    setup: commandLine('setup'),
  })
  components.add({ reload: () => models.use(current, environment), stop: models.close })
  await models.use(current, environment)
  const primaryModel = () => models.route('primary')[0]?.info.id ?? 'none'

  await tokens.setEnvironmentToken(ownerId, atStart.token)
  const isFirst = (await tokens.list(ownerId)).length === 0
  const users = createUsers({ database, tokens, clock, ids, plans: () => config().plans, addSecret: redactor.add })
  await users.refresh()
  const newToken =
    isFirst && options.makeToken !== false ? (await tokens.createToken(ownerId, 'owner')).token : undefined
  const credential = randomBytes(32).toString('base64url')
  const credentialHash = sha256(credential)
  for (const secret of [credential, newToken]) if (secret) redactor.add(secret)

  const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone
  // Without the key of the vault, approvals do not outlive this run. Nothing else depends on it.
  const approvalKey = await vault.deriveKey('approvals').catch(() => randomBytes(32))
  const audit = createToolAudit({ database, clock, ids, redact: redactor.redact })
  const essentials: Essentials = { config, atStart, paths, database, redactor, clock, ids, logger, timeZone }
  const core = createCore({
    ...essentials,
    models,
    images: models.images,
    publishMonitor: (state) =>
      replaceFile(paths.monitor, `${JSON.stringify(redactJson(redactor, state))}\n`).catch((cause) =>
        logger.warn('monitor.json was not written', { error: reasonOf(cause) }),
      ),
    random: Math.random,
    users,
    extraTools: options.extraTools,
    messageUser: (message) => channels.message(message),
    audit,
    approvalKey: () => approvalKey,
    telemetry,
    shared,
    fleet: fleet.fleet,
    onStep,
  })
  const { conversations, monitor, modelsOf, chooseModel, permissions, askModel, embedder } = core
  // A command that only reads starts no background work.
  components.add(options.recover === false ? { stop: core.stop } : core)
  observation.watch({ conversations, database })
  const sandbox = openSandbox({
    settings: atStart.sandbox,
    directory: paths.sandbox,
    runtimeDirectory: loaded.environment.XDG_RUNTIME_DIR ?? null,
    logger,
  })
  components.add({ stop: sandbox.close })
  const parts = { ...essentials, ...core, registry: core.tools, models, sandbox, vault, audit, shared, users, ownerId }
  const { onBuildStep, onTelegramStep, onOutboxStep } = options
  const tools = components.add(openTools({ ...parts, onBuildStep, environment: () => environment }))
  const { capabilities } = tools
  const costReport = (userId: string, period: CostPeriod) => reportCost(database, { userId, period, now: clock.now() })
  const workspace = components.add(openWorkspace({ ...parts, ...tools, capabilities, costReport }))
  core.useWorkspace(workspace.roles)

  const memoryApi = httpMemory({ ...parts, spoolDirectory: paths.run })
  const { builds } = capabilities
  const removeUser = createRemoveUser({ ...parts, builds, exportMemories: memoryApi.exportMemories })
  let url = ''
  const baseUrl = () => current.http.publicUrl ?? url
  const links = createOneTimeLinks({ database, clock, ids })
  const secretLinks = createSecretLinks({ database, links, capabilities, baseUrl })
  const channels = openChannels({
    ...parts,
    commands: workspace.commands,
    builds,
    ...tools.voice,
    secretLink: secretLinks.secretLink,
    onTelegramStep,
    onOutboxStep,
  })
  // A command that only reads fetches and sends nothing.
  components.add(options.recover === false ? { stop: channels.stop } : channels)
  const mayUse = (userId: string, tool: string) => allowsTool(users.planOf(userId), tool)
  // Messages of an earlier run are queued before those that come in now.
  const recovery = Promise.withResolvers<void>()
  const patient: Conversations = {
    ...conversations,
    submit: (...message) => recovery.promise.then(() => conversations.submit(...message)),
    answerApproval: (answer) => recovery.promise.then(() => conversations.answerApproval(answer)),
  }
  const agentName = () => config().agent.name
  /** Here, or at another daemon of the fleet. */
  function onAnyWrite(listener: () => void): () => void {
    const unfollow = [onWrite(listener), fleet.onElsewhere(listener)]
    return () => {
      for (const stop of unfollow) stop()
    }
  }
  const mcpServer = createLazyMcp({
    ...parts,
    name: agentName(),
    version,
    conversations: patient,
    capabilities,
    skills: workspace.skills,
    assets: workspace.assets,
    allowsTool: mayUse,
    onWrite: onAnyWrite,
  })
  const imageFetch = createGuardedFetch({ maxBytes: atStart.http.maxAttachmentBytes })
  components.add({ stop: imageFetch.close })
  const page = createPageService({ ...parts, builds, links, agentName, commandLine, baseUrl, onWrite: onAnyWrite })
  const startedAt = clock.now()
  const search = createSearch({
    ...core,
    database,
    memories: core.memory.memories,
    files: core.memory.files,
    texts: createFileTexts({ finders: workspace.finders, assets: workspace.assets.assets, clock }),
    tools: catalogOfPlan(tools.catalog, mayUse),
    capabilities,
    schedules: workspace.schedules,
    settings: () => describeSettings({ home, env, flags: flagsOf(options), config: current }),
  })
  const http = createHttpApp({
    search,
    observation: observation.http,
    links: { store: links, secrets: secretLinks },
    ...(fleet.role === 'worker' ? { worksOnly: true } : { page }),
    home: openHomeDesk({
      ...parts,
      home,
      env,
      flags: flagsOf(options),
      config: () => current,
      stored: () => stored,
      restartNeeded: changedSinceStart,
      reload,
      voice: tools.voice,
      baseUrl,
    }),
    setup: createSetupDesk({
      ...parts,
      home,
      env,
      flags: flagsOf(options),
      environment: () => environment,
      stored: () => stored,
      restartNeeded: changedSinceStart,
      reload,
    }),
    mcpServer,
    openai: { modelsOf, chooseModel, askModel, embedder, fetch: imageFetch },
    voice: tools.voice,
    outbox: channels.outbox,
    telegram: channels.telegram,
    conversations: patient,
    tokens: {
      verify: async (token) =>
        // Hashes are compared, so that the time it takes says nothing about the credential.
        sha256(token) === credentialHash
          ? { userId: ownerId, isOwner: true, scope: 'owner', tokenId: localTokenId }
          : tokens.verify(token),
    },
    limiter: createRateLimiter({
      clock,
      requestsPerMinute: atStart.http.rateLimitPerMinute,
      failuresPerMinute: atStart.http.failedLoginsPerMinute,
    }),
    ...memoryApi,
    users: { users, removeUser, tokens: { ...tokens, createToken: createSecretToken } },
    media: core.media,
    tools: catalogOfPlan(tools.catalog, mayUse),
    capabilities,
    triggers: tools.triggers,
    telemetry: tools.telemetry,
    mcp: tools.mcp,
    redactor,
    costReport,
    costs: createCosts({
      database,
      clock,
      limits: (id) => limitsOfPlan(users.planOf(id), limitsOfBudget(config().budget)),
    }),
    assets: workspace.assets,
    readDocument: workspace.readDocument,
    skills: workspace.skills,
    permissions,
    schedules: workspace.schedules,
    commands: workspace.commands,
    finders: workspace.finders,
    monitor: monitor.current,
    status: () => ({
      name: agentName(),
      version,
      uptimeSeconds: (clock.now() - startedAt) / 1_000,
      model: primaryModel(),
    }),
    clock,
    logger,
    settings: { ...atStart.http, allowedHosts: [...atStart.http.allowedHosts, ...ownNames(atStart.http)] },
  })

  async function createSecretToken(...of: Parameters<typeof tokens.createToken>) {
    const made = await tokens.createToken(...of)
    redactor.add(made.token)
    return made
  }

  /** Rejects with `CannotListen` where the port is taken. */
  async function listen(): Promise<void> {
    const { host, port } = atStart.http
    const server = await serveHttp({ ...http, host, port, logger }).catch((cause) => {
      throw new CannotListen(reasonOf(cause), { cause })
    })
    components.add({ stop: () => server.close(1_000) })
    url = server.url
    await writeDaemonInfo(home, { url, credential })
  }

  let discovered: Promise<void> | undefined

  /**
   * Resumes the turns and messages of an earlier run. The first turn has the tools of folders and MCP servers, but a folder
   * that is slow to read delays no turn.
   */
  async function recover(): Promise<{ resumedTurns: number; queuedMessages: number }> {
    discovered = tools.discover()
    const patience = Promise.withResolvers<void>()
    const stopWaiting = clock.after(toolsPatienceMs, () => {
      logger.warn('tools are still being read; turns start without those that are missing')
      patience.resolve()
    })
    discovered.finally(stopWaiting).catch(() => undefined)
    await Promise.race([discovered, patience.promise])
    const recovered = options.recover === false ? { resumedTurns: 0, queuedMessages: 0 } : await conversations.recover()
    recovery.resolve()
    return recovered
  }

  /** Starts to take turns, and the duties of the leader once this daemon leads. */
  async function lead(): Promise<void> {
    await discovered
    fleet.follow({ users, vault, workspace, channels, catalog: capabilities.catalog, tools, conversations })
    await core.takeTurns()
    await fleet.whenLeading(components.lead)
    observation.ready()
    if (shared) {
      shareMedia(paths.media, shared.media).catch(
        report('could not copy the media of this home into the shared storage'),
      )
    }
    if (options.recover !== false) {
      const follow = () => void followConfig().catch(report('could not reload the config'))
      components.add({ stop: followConfigFiles(home, follow) })
    }
    fleet.onConfig(() => void readConfig().then(reportProblems, report('could not reload the config')))
  }

  async function readConfig(): Promise<ConfigProblem[]> {
    await readStoredKeys()
    const again = load()
    if (!again.ok) return again.problems
    ;({ config: current, environment } = again)
    learnSecrets()
    await components.reload()
    logger.info('the config was reloaded', { restartNeeded: changedSinceStart() })
    return []
  }

  async function reload(): Promise<ConfigProblem[]> {
    const problems = await readConfig()
    if (problems.length === 0) fleet.tellConfig()
    return problems
  }

  /** A file that was saved without a change is not read again. */
  async function followConfig(): Promise<void> {
    const again = load()
    if (!again.ok || !isDeepStrictEqual(again.config, current)) reportProblems(await reload())
  }

  function reportProblems(problems: ConfigProblem[]): void {
    if (problems.length > 0) logger.warn('the config has problems; the previous one stays active', { problems })
  }

  function report(message: string): (cause: unknown) => void {
    return (cause) => logger.error(message, { error: reasonOf(cause) })
  }

  let closing: Promise<void> | undefined
  return {
    listen,
    recover,
    lead,
    toDaemon(recovered: { resumedTurns: number; queuedMessages: number }) {
      logger.info('ready', { url, model: models.route('primary')[0]?.info.id, ...recovered })
      return {
        url,
        /** An address that signs the owner's browser in, once; null if the page was not built. */
        signInLink: async () => (page.files ? (await page.signInLink(ownerId)).url : null),
        paths,
        database,
        conversations,
        ownerId,
        model: primaryModel,
        /** Made at the first start, and readable only now. */
        newToken,
        /** For this machine's own command line, as long as the daemon runs. */
        credential,
        warnings,
        /** After `missingSince` changes may be missing: the database's log was deleted after a crash. */
        recovered: { ...recovered, uncleanStop: opened.uncleanStop, missingSince: opened.missingSince },
        /** Resolves with the reason when the other daemons consider this one dead: it must then be closed. */
        lost: fleet.lost,
        /** Reads the config again. A broken one changes nothing and is reported. */
        reload,
        /** Settings that have changed and take effect at the next start only, by their names in `familiar.toml`. */
        restartNeeded: changedSinceStart,
        /** Finishes the running step (cut off after `graceMs`) and releases all resources. Safe to call twice. */
        close(graceMs = 10_000) {
          observation.draining()
          closing ??= (async () => {
            // At once, so that other daemons take the jobs that this one no longer starts.
            const drained = fleet.drain()
            await conversations.close(graceMs)
            await drained
            await components.stop()
          })()
          return closing
        },
      }
    },
  }
}

/** All secrets of the config but the keys of providers, which the model set adds itself. */
function secretsOf(config: Config): string[] {
  const { token, memory, tools, mcp, telegram, callback, voice, database, shared, telemetry } = config
  const addresses = Object.values(mcp.servers).flatMap((server) => ('url' in server ? [server] : []))
  const headers = addresses.flatMap((server) => Object.values(server.headers))
  const keys = [
    token,
    memory.embedding.apiKey,
    tools.webSearch?.apiKey,
    tools.tts.apiKey,
    telegram?.token,
    callback?.secret,
    voice.transcription.apiKey,
    ...addresses.flatMap(({ oauth }) => [oauth?.clientSecret, oauth?.privateKey]),
    shared && 's3' in shared ? shared.s3.secretAccessKey : null,
    shared && 's3' in shared ? shared.s3.sessionToken : null,
    database.url === null ? null : decodeURIComponent(new URL(database.url).password) || null,
  ]
  return [...keys.filter((key) => typeof key === 'string'), ...headers, ...Object.values(telemetry.headers)]
}
