import { isAbsolute } from 'node:path'
import type { Build } from '../../custom-tools/builder/builds.ts'
import type { Registration } from '../../custom-tools/builder/gate.ts'
import { type Capability, secretOwnerOf, toolNameOf } from '../../custom-tools/built-catalog.ts'
import { type Capabilities, needsApproval } from '../../custom-tools/capabilities.ts'
import { decodeUtf8 } from '../../custom-tools/tool-folder.ts'
import { lockFile } from '../../custom-tools/versions.ts'
import type { BuildEvent } from '../../protocol/custom-tools.ts'
import * as api from '../../protocol/custom-tools.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { localTokenId } from '../../security/tokens.ts'
import { refuseHead, type SentEvent, type StreamReply } from '../chat-replies.ts'
import type { HttpContext } from '../dependencies.ts'
import { callerOf } from '../guards.ts'
import { commonHeaders, orNotFound, wantsEvents } from '../replies.ts'
import { type HandlerReply, handle, type Route } from '../route.ts'
import { progressReply } from './memory-transfer.ts'

/** Capabilities and their builds. No token can bring code, a path or a host in here (SEC-4). */
export function createCapabilityRoutes(capabilities: Capabilities, streamReply: StreamReply): Route[] {
  return [
    ...createCapabilityListRoutes(capabilities),
    ...createCapabilityRunRoutes(capabilities),
    ...createCapabilityFolderRoutes(capabilities, streamReply),
    ...createBuildRoutes(capabilities),
    ...createBuildEventRoutes(capabilities, streamReply),
  ]
}

/** The capability in the path. One of another user is reported as unknown (SEC-22). */
function findCapability({ catalog }: Capabilities, userId: string, { name }: { name: string }): Capability {
  return orNotFound(catalog.find(userId, name), `There is no capability named ${name.slice(0, 200)}.`)
}

function summaryOf(capability: Capability) {
  return { ...capability, needsApproval: needsApproval(capability) }
}

async function detailsOf(
  { catalog, builds, vault }: Capabilities,
  capability: Capability,
): Promise<HandlerReply<typeof api.capabilities.show>> {
  const { userId, name, permissions } = capability
  const [versions, statistics, [build], secrets] = await Promise.all([
    catalog.versions(userId, name),
    catalog.statistics(userId, name),
    builds.list(userId, { name, limit: 1 }),
    vault.names(userId, secretOwnerOf(name)),
  ])
  const isSet = (key: string) => secrets.some((secret) => secret.name === key)
  return {
    ...summaryOf(capability),
    tool: toolNameOf(name),
    askedAs: versions.find(({ version }) => version === capability.version)?.manifest.askedAs ?? [],
    permissions: {
      ...permissions,
      secrets: permissions.secrets.map((secret) => ({ ...secret, isSet: isSet(secret.name) })),
    },
    versions: versions.map((version) => ({ ...version, runtime: version.manifest.runtime })),
    statistics: statistics ?? { calls: 0, failures: 0, medianMs: null, lastCalledAt: null, lastError: null },
    build: build ? shownBuild(build) : null,
  }
}

const maxFound = 50

/** The capabilities, their files, their calls, and the differences between versions. */
function createCapabilityListRoutes(capabilities: Capabilities): Route[] {
  const { catalog, search, audit } = capabilities
  return [
    handle(api.capabilities.list, async ({ userId, query, signal }) => {
      const { state, query: text } = query
      const listed =
        text === undefined
          ? catalog.list(userId, state === undefined ? {} : { state })
          : (await search.search({ userId, text, limit: maxFound, signal }))
              .map(({ capability }) => capability)
              .filter((capability) => state === undefined || capability.state === state)
      return { capabilities: listed.map(summaryOf) }
    }),
    handle(api.capabilities.proposals, async ({ userId }) => ({ proposals: await catalog.proposals(userId) })),
    handle(api.capabilities.show, ({ userId, params }) =>
      detailsOf(capabilities, findCapability(capabilities, userId, params)),
    ),
    handle(api.capabilities.diff, ({ userId, params, query }) => {
      const { name } = findCapability(capabilities, userId, params)
      return capabilities.difference({ userId, name, ...query })
    }),
    handle(api.capabilities.calls, async ({ userId, params, query }) => {
      const { name } = findCapability(capabilities, userId, params)
      return { calls: await audit.list(userId, { tool: toolNameOf(name), limit: query.limit }) }
    }),
    handle(api.capabilities.files, async ({ userId, params, query }) => {
      const { name } = findCapability(capabilities, userId, params)
      const found = await catalog.version(userId, name, query.version)
      const version = orNotFound(found, `${name} has no version ${query.version ?? 'yet'}.`)
      const reading = await catalog.read(version)
      if (!reading.ok) throw new FamiliarError('conflict', reading.problem)
      const files = [...reading.files]
        .filter(([path]) => path !== lockFile)
        .map(([path, bytes]) => ({ path, bytes: bytes.length, text: decodeUtf8(bytes) ?? null }))
      return { version: version.version, files }
    }),
  ]
}

/** An imported capability is approved on the machine itself, where its permissions are shown (CAP-9, SEC-4). */
function refuseUnapproved(capability: Capability): void {
  if (!needsApproval(capability)) return
  const { name } = capability
  throw new FamiliarError(
    'conflict',
    `${name} was imported and its permissions are not approved. On the machine itself: familiar caps enable ${name}`,
  )
}

/** Only the active version of an imported capability is known to be approved. */
function refuseOtherVersion(context: HttpContext, capability: Capability, version: number | undefined): void {
  const { name, origin, version: serving } = capability
  if (origin !== 'imported' || version === serving || callerOf(context).tokenId === localTokenId) return
  throw new FamiliarError(
    'conflict',
    `${name} was imported. Run or activate its other versions on this machine, with familiar caps.`,
  )
}

const secretName = /^[A-Za-z][A-Za-z0-9_]{0,63}$/

/** Runs, repairs, secrets and the active version. A run ends when its caller hangs up. */
function createCapabilityRunRoutes(capabilities: Capabilities): Route[] {
  const { catalog, runs, builds, vault } = capabilities

  /** Returns whether a build was waiting for the secret; it then continues. */
  async function keepSecret({ userId, name, permissions, state }: Capability, key: string, value: string) {
    const asked = (await builds.questions(userId)).some((one) => one.name === name && one.secret === key)
    const declared = permissions.secrets.map((secret) => secret.name)
    // During a build the declared secrets are not known yet, and the question for one may have expired.
    if (!asked && !declared.includes(key) && !(state === 'building' && secretName.test(key))) {
      const known = declared.length > 0 ? `It has: ${declared.join(', ')}.` : 'It has none.'
      throw new FamiliarError(
        'bad_request',
        `${name} declares no secret ${JSON.stringify(key.slice(0, 100))}. ${known}`,
      )
    }
    await vault.set({ userId, owner: secretOwnerOf(name), name: key }, value)
    await builds.noticeSecret(userId, name, key)
    return asked
  }

  return [
    handle(api.capabilities.run, ({ userId, params, body, signal, context }) => {
      const capability = findCapability(capabilities, userId, params)
      const { args: input, version } = body
      if (version !== undefined) refuseOtherVersion(context, capability, version)
      return runs.run({ userId, name: capability.name, version, input, caller: 'user', signal })
    }),
    handle(api.capabilities.repair, async ({ userId, params, body }) => {
      const capability = findCapability(capabilities, userId, params)
      refuseUnapproved(capability)
      return shownBuild(await capabilities.repair({ userId, name: capability.name, problem: body.problem }))
    }),
    handle(api.capabilities.setSecret, async ({ userId, params, body }) => ({
      wasAwaited: await keepSecret(findCapability(capabilities, userId, params), params.key, body.value),
    })),
    ...([true, false] as const).map((isOn) =>
      handle(isOn ? api.capabilities.enable : api.capabilities.disable, async ({ userId, params }) => {
        const capability = findCapability(capabilities, userId, params)
        if (isOn) refuseUnapproved(capability)
        return detailsOf(capabilities, await catalog.setEnabled(userId, capability.name, isOn))
      }),
    ),
    handle(api.capabilities.rollback, async ({ userId, params, body, context }) => {
      const capability = findCapability(capabilities, userId, params)
      refuseUnapproved(capability)
      refuseOtherVersion(context, capability, body.version)
      return detailsOf(capabilities, await catalog.rollback(userId, capability.name, body.version))
    }),
  ]
}

type Job = { signal: AbortSignal; onProgress(line: string): void }

/**
 * Imports and exports folders. Each request names a path or adds code that never ran here, so it is accepted only from the
 * command line of this machine (SEC-4).
 */
function createCapabilityFolderRoutes(capabilities: Capabilities, streamReply: StreamReply): Route[] {
  const { folders } = capabilities

  function register(context: HttpContext, work: (job: Job) => Promise<Registration>): Promise<Response> {
    return progressReply(
      context,
      streamReply,
      async ({ signal, onProgress }) =>
        registrationReply(await work({ signal, onProgress: (message) => onProgress({ message }) })),
      api.capabilities.register,
    )
  }

  return [
    handle(api.capabilities.register, ({ userId, body, context }) => {
      const directory = absolute(body.directory)
      return register(context, (job) => folders.register(userId, directory, job))
    }),
    handle(api.capabilities.importFolder, async ({ userId, body, signal }) =>
      registrationReply(await folders.importFrom(userId, absolute(body.directory), signal)),
    ),
    handle(api.capabilities.approve, ({ userId, params, body, context }) => {
      const { name, version } = findCapability(capabilities, userId, params)
      if (version !== body.version) {
        throw new FamiliarError('conflict', `${name} has changed since its permissions were shown. Look at it again.`)
      }
      return register(context, (job) => folders.approve(userId, name, job))
    }),
    handle(api.capabilities.exportFolder, ({ userId, params, body }) => {
      const { name } = findCapability(capabilities, userId, params)
      return folders.exportTo(userId, name, absolute(body.directory))
    }),
  ]
}

/** A relative path would be relative to the daemon's working directory, not to the caller's. */
function absolute(directory: string): string {
  if (isAbsolute(directory) && !directory.includes('\0')) return directory
  throw new FamiliarError('bad_request', 'directory: must be an absolute path')
}

function registrationReply(registration: Registration) {
  if (!registration.ok) return { ...registration, name: null, version: null }
  return { ...registration, name: registration.capability.name, problems: [] }
}

function shownBuild(build: Build) {
  return { ...build, state: build.isWaiting ? 'waiting' : build.state, description: build.request.description } as const
}

/** The build with this id. One of another user is reported as unknown (SEC-22). */
async function findBuild({ builds }: Capabilities, userId: string, id: string): Promise<Build> {
  return orNotFound(await builds.find(userId, id), `There is no build ${id.slice(0, 200)}.`)
}

/** Builds and their questions. A token that may chat for the user may answer. */
function createBuildRoutes(capabilities: Capabilities): Route[] {
  const { builds } = capabilities
  const answered = { ok: true } as const
  return [
    handle(api.builds.list, async ({ userId, query }) => {
      const { name, state, limit } = query
      const wanted = { ...(name !== undefined && { name }), ...(state !== undefined && { state }), limit }
      return { builds: (await builds.list(userId, wanted)).map(shownBuild) }
    }),
    handle(api.builds.questions, async ({ userId }) => ({ questions: await builds.questions(userId) })),
    handle(api.builds.answer, async ({ userId, params, body }) => {
      await builds.answer(userId, params.id, body.answer)
      return answered
    }),
    handle(api.builds.giveSecret, async ({ userId, params, body }) => {
      await builds.giveSecret(userId, params.id, body.value)
      return answered
    }),
    handle(api.builds.show, async ({ userId, params }) => shownBuild(await findBuild(capabilities, userId, params.id))),
    handle(api.builds.stop, async ({ userId, params }) => {
      const { id } = await findBuild(capabilities, userId, params.id)
      return { stopped: await builds.stop(userId, id) }
    }),
  ]
}

/** The events of a build from any cursor on: a reader that reconnects gets each event once (CAP-7). */
function createBuildEventRoutes(capabilities: Capabilities, streamReply: StreamReply): Route[] {
  const { builds } = capabilities

  async function watch(build: Build, after: number, dataOf: (event: BuildEvent) => object): Promise<Response> {
    const from = { userId: build.userId, buildId: build.id, after }
    // A browser that has read the last event reconnects until a 204 says that there are no more.
    if (build.state !== 'running' && after > 0 && (await builds.eventsSoFar(from)).length === 0) {
      return new Response(null, { status: 204, headers: commonHeaders })
    }
    return streamReply(build.userId, async (signal) => {
      return { events: toSentEvents(builds.events({ ...from, signal }), dataOf) }
    })
  }

  return [
    handle(api.builds.events, async ({ userId, params, query, context }) => {
      const build = await findBuild(capabilities, userId, params.id)
      const after = cursorOf(context) ?? query.after ?? 0
      if (!wantsEvents(context)) return { events: await builds.eventsSoFar({ userId, buildId: build.id, after }) }
      refuseHead(context)
      return watch(build, after, (event) => event)
    }),
    handle(api.builds.status, async ({ userId, query, context }) => {
      refuseHead(context)
      return watch(await findBuild(capabilities, userId, query.buildId), cursorOf(context) ?? 0, plainMessage)
    }),
  ]
}

/** All events are named `message`: browsers and our client raise `error` themselves when a stream breaks. */
async function* toSentEvents(
  events: AsyncIterable<BuildEvent>,
  dataOf: (event: BuildEvent) => object,
): AsyncGenerator<SentEvent> {
  for await (const event of events) yield { id: String(event.seq), name: 'message', data: dataOf(event) }
}

function plainMessage({ type, build_id: _build, seq: _seq, at: _at, ...payload }: BuildEvent): object {
  return { type, ...payload }
}

/** The last event that a reconnecting client has read. */
function cursorOf(context: HttpContext): number | undefined {
  const header = context.req.header('last-event-id')
  if (header === undefined || header === '') return undefined
  if (/^\d{1,15}$/.test(header)) return Number(header)
  throw new FamiliarError('bad_request', 'Last-Event-ID: must be the number of an event')
}
