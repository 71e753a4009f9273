import { FamiliarError } from '../protocol/errors.ts'
import type { Effect, PolicyMode } from '../protocol/permissions.ts'
import { readCommandRule } from '../security/command-rules.ts'
import { type Grant, type Grants, grantsOf, modeOf } from '../security/permissions.ts'
import type { Database } from '../storage/database.ts'
import type { ToolRegistry } from '../tools/registry.ts'
import type { Session, Sessions } from './sessions/sessions.ts'

/** A permission that needs no question, wherever it comes from. */
export interface Permission extends Omit<Grant, 'id' | 'userId' | 'subject' | 'givenAt' | 'givenFrom'> {
  /** Null if it follows from the configuration or from an enabled tool: it ends there. */
  id: string | null
  /** Null: every tool. */
  tool: string | null
  source: 'user' | 'config' | 'tool'
  givenAt: number | null
  givenFrom: string | null
}

export interface NewPermission {
  userId: string
  tool: string
  effect: Effect
  destination: string
  /** The id or contact of a session; undefined: in all of them. */
  session?: string | undefined
  until?: number | undefined
  from: string
}

export interface PolicySettings {
  mode: PolicyMode
  /** Open to every tool: those that the owner listed, and the configured services. */
  destinations: readonly string[]
}

export type Permissions = ReturnType<typeof createPermissions>

/** Everything that a user has allowed, in one list, and the mode of each conversation (SEC-6). */
export function createPermissions(dependencies: {
  database: Database
  grants: Grants
  sessions: Pick<Sessions, 'get' | 'list' | 'chooseMode'>
  tools: Pick<ToolRegistry, 'viewOf' | 'onShelves'>
  policy(): PolicySettings
  planMode(userId: string): PolicyMode | null
  now(): number
}) {
  const { database, grants, sessions, tools, policy, planMode, now } = dependencies

  function effectiveMode(session: Pick<Session, 'userId' | 'mode'>): PolicyMode {
    return modeOf({ session: session.mode, usual: policy().mode, plan: planMode(session.userId) })
  }

  async function own(userId: string, idOrContact: string): Promise<Session> {
    const session =
      (await sessions.get(userId, idOrContact)) ??
      (await sessions.list(userId)).find(({ contact }) => contact === idOrContact)
    if (!session) throw new FamiliarError('not_found', `There is no session ${idOrContact}`)
    return session
  }

  function fromTools(userId: string): Permission[] {
    return [...tools.viewOf(userId).list(), ...tools.onShelves(userId)].flatMap((tool) => {
      // Approved hosts belong to the tool, whatever the arguments of a call.
      const reach = tool.reach({})
      if (!reach.isApproved) return []
      return grantsOf(reach).map((to) =>
        derived({ tool: tool.definition.name, effect: reach.kind, to, source: 'tool' }),
      )
    })
  }

  return {
    effectiveMode,
    /** Of a sub-agent: the mode of the conversation that started it. */
    async modeIn(session: Session, parentSessionId?: string): Promise<PolicyMode> {
      const parent = parentSessionId === undefined ? undefined : await sessions.get(session.userId, parentSessionId)
      return effectiveMode(parent ?? session)
    },
    usualMode: (userId: string) => modeOf({ session: null, usual: policy().mode, plan: planMode(userId) }),

    /** The permissions that the user gave, newest first, then those that follow from tools and the configuration. */
    async list(userId: string): Promise<Permission[]> {
      const given = await grants.list(userId)
      const config = policy().destinations.map((to) => derived({ tool: null, effect: 'reach', to, source: 'config' }))
      return [...given.map(fromGrant), ...fromTools(userId), ...config]
    },

    async allow(wanted: NewPermission): Promise<Permission> {
      const { userId, tool: subject, effect, session, until, from } = wanted
      const destination = readDestination(effect, wanted.destination)
      if (until !== undefined && until <= now())
        throw new FamiliarError('bad_request', 'until: this time has passed. Give a later one.')
      const tool = tools.viewOf(userId).find(subject)
      if (!tool) throw new FamiliarError('not_found', `There is no tool named ${JSON.stringify(subject)}.`)
      const sessionId = session === undefined ? null : (await own(userId, session)).id
      const given = { userId, subject: tool.definition.name, effect, destination, sessionId, from }
      const grant = await database.write((writer) => grants.giveIn(writer, { ...given, expiresAt: until ?? null }))
      return fromGrant(grant)
    },

    /** It counts from the next call on, also in runs that are under way. */
    async revoke(userId: string, id: string): Promise<Permission> {
      const given = (await grants.list(userId)).find((grant) => grant.id === id)
      if (!given || !(await grants.revoke(userId, id)))
        throw new FamiliarError('not_found', `There is no permission ${id}`)
      return fromGrant(given)
    },

    async setMode(userId: string, sessionId: string, mode: PolicyMode | null): Promise<PolicyMode> {
      const session = await own(userId, sessionId)
      await sessions.chooseMode(userId, session.id, mode)
      return effectiveMode({ ...session, mode })
    },
  }
}

const named = /^(?:mcp|tool|client):[\w.-]+$/

function readDestination(effect: Effect, text: string): string {
  if (effect === 'reach') return readPlace(text)
  if (effect !== 'host') return text
  const rule = readCommandRule(text)
  if (!rule.ok) throw new FamiliarError('bad_request', rule.message)
  return rule.value
}

/** `example.org`, an address of which the origin counts, or the name of a server, tool or client. */
function readPlace(text: string): string {
  if (named.test(text)) return text
  const url = URL.parse(/^https?:\/\//.test(text) ? text : `https://${text}`)
  const isHost = url?.username === '' && url.password === '' && !url.hostname.includes('*')
  if (url && isHost && /^(?:https?:\/\/)?[^/\s]+(?:\/|$)/.test(text)) return url.origin
  throw new FamiliarError('bad_request', `${JSON.stringify(text)} is not a host. Write it as example.org.`)
}

function fromGrant({ userId: _user, subject: tool, ...rest }: Grant): Permission {
  return { ...rest, tool, source: 'user' }
}

function derived(given: { tool: string | null; effect: Effect; to: string; source: 'config' | 'tool' }): Permission {
  const { tool, effect, to: destination, source } = given
  return {
    id: null,
    tool,
    effect,
    destination,
    sessionId: null,
    source,
    givenAt: null,
    givenFrom: null,
    expiresAt: null,
  }
}
