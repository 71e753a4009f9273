import { formatTime } from '../../base/text.ts'
import { type PermissionReply, permissions } from '../../protocol/permissions.ts'
import { CommandError, idStartingWith, usageError } from '../command.ts'
import { apiCommand, findSession } from '../connect.ts'

/** The permissions that you gave, and those that follow from enabled tools and the configuration. */
export const listPermissions = apiCommand(
  permissions,
  (api) => api.list(),
  (reply) => ({
    empty: `No standing permissions. The mode is ${reply.mode}.`,
    header: ['Tool', 'May', 'Destination', 'Where', 'Since', 'Id'],
    rows: reply.permissions.map((given) => [
      given.tool ?? 'every tool',
      given.effect,
      given.destination,
      placeOf(given),
      given.given_at === null ? '' : formatTime(given.given_at),
      given.id ?? (given.source === 'config' ? 'from the configuration' : 'approved with the tool'),
    ]),
  }),
)

interface AllowInput {
  tool: string
  destination: string[]
  effect?: PermissionReply['effect']
  session?: string
  until?: string
}

/** Commands on this machine are allowed here and nowhere else. */
export const allow = apiCommand(
  permissions,
  async (api, { tool, destination, effect, session, until }: AllowInput, { client }) => {
    const ends = until === undefined ? undefined : Date.parse(until)
    if (Number.isNaN(ends)) throw usageError('--until is not a date. Write it as 2026-12-31 or 2026-12-31T18:00.')
    const place = session === undefined ? undefined : (await findSession(client, session)).id
    return api.allowHere({
      tool,
      destination: destination.join(' '),
      effect: effect ?? (tool === 'exec' ? 'host' : 'reach'),
      ...(place !== undefined && { session: place }),
      ...(ends !== undefined && { until: new Date(ends).toISOString() }),
    })
  },
  (given, output) => {
    output.print(`Allowed: ${describe(given)}.`)
    output.note(`To revoke it: ${output.commandLine(`permissions revoke ${given.id}`)}`)
    return undefined
  },
)

export const revoke = apiCommand(
  permissions,
  async (api, input: { id: string }) => {
    const known = (await api.list()).permissions.flatMap(({ id, ...rest }) => (id === null ? [] : [{ id, ...rest }]))
    return api.revoke({ id: idStartingWith(known, input.id, 'permissions', 'familiar permissions') })
  },
  (revoked) => `Revoked: ${describe(revoked)}. It applies from the next call.`,
)

export const mode = apiCommand(
  permissions,
  async (api, input: { mode?: 'strict' | 'balanced' | 'trusting' | 'default'; session: string }, { client }) => {
    const session = await findSession(client, input.session).catch((error: unknown) => {
      if (!(error instanceof CommandError) || error.code !== 'not_found' || input.session !== 'main') throw error
      if (input.mode === undefined) return undefined
      throw new CommandError(error.message, { hint: 'For all sessions: familiar config set policy.mode MODE' })
    })
    // The usual session does not exist before its first message.
    if (!session) return { mode: null, effective: (await api.list()).mode }
    if (input.mode === undefined) return api.mode({ id: session.id })
    return api.setMode({ id: session.id, mode: input.mode === 'default' ? null : input.mode })
  },
  ({ mode: chosen, effective }) => {
    if (chosen === null) return `This session asks as configured: ${effective}.`
    return chosen === effective
      ? `This session is ${effective}.`
      : `This session is ${effective}; the plan allows no more.`
  },
)

function describe({ tool, effect, destination }: PermissionReply): string {
  return `${tool ?? 'every tool'} → ${destination}${effect === 'reach' ? '' : ` (${effect})`}`
}

function placeOf({ session_id, expires_at }: PermissionReply): string {
  const where = session_id === null ? 'everywhere' : `session ${session_id}`
  return expires_at === null ? where : `${where}, until ${formatTime(expires_at)}`
}
