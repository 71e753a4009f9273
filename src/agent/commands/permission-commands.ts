import { type PolicyMode, policyModes } from '../../protocol/permissions.ts'
import type { Permission } from '../permissions.ts'
import {
  type Command,
  type CommandServices,
  changesForUser,
  done,
  misused,
  quoted,
  sessionHere,
  tell,
} from './command.ts'

/** `/permissions` and `/mode`: for the user alone, because the agent must not widen its own permissions (SEC-4). */
export function createPermissionCommands(services: Pick<CommandServices, 'conversations' | 'permissions'>): Command[] {
  const { conversations, permissions } = services

  const list: Command = {
    name: 'permissions',
    usage: '/permissions [allow TOOL DESTINATION | revoke ID]',
    summary: 'show, give or revoke standing permissions',
    ...changesForUser,
    acts: (argument) => argument !== '',
    complete: async () => ['allow ', 'revoke '],
    async run({ userId, argument }) {
      const [verb = '', tool = '', ...rest] = argument.split(/\s+/).filter((word) => word !== '')
      const destination = rest.join(' ')
      if (verb === '') return tell(describeAll(await permissions.list(userId)))
      if (verb === 'revoke' && tool !== '' && destination === '') {
        const revoked = await permissions.revoke(userId, await idOf(userId, tool))
        return done(`Revoked: ${describe(revoked)}.`)
      }
      if (verb !== 'allow' || destination === '') return misused('Say what to allow or revoke.', list)
      // Commands on this machine are allowed on its command line only.
      const effect = destination.includes('@') ? 'send' : 'reach'
      const given = await permissions.allow({ userId, tool, destination, effect, from: 'command' })
      return done(`Allowed: ${describe(given)}.`)
    },
  }

  /** Ids are long: the beginning is enough if it names one. */
  async function idOf(userId: string, start: string): Promise<string> {
    const ids = (await permissions.list(userId)).flatMap(({ id }) => (id?.startsWith(start) ? [id] : []))
    return ids.length === 1 && ids[0] !== undefined ? ids[0] : start
  }

  const usual = 'default'
  const mode: Command = {
    name: 'mode',
    usage: `/mode [${[...policyModes, usual].join(' | ')}]`,
    summary: 'show or change how often this conversation asks you',
    ...changesForUser,
    acts: (argument) => argument !== '',
    complete: async () => [...policyModes, usual],
    async run(call) {
      const { userId, sessionId, argument } = call
      if (argument === '') {
        const session = sessionId === null ? undefined : await conversations.findSession(userId, sessionId)
        const current = session ? permissions.effectiveMode(session) : permissions.usualMode(userId)
        return done(`${current}: ${modeTexts[current]}`)
      }
      const chosen = policyModes.find((one) => one === argument)
      if (!chosen && argument !== usual)
        return misused(`There is no mode ${quoted(argument)}. Choose ${policyModes.join(', ')} or ${usual}.`, mode)
      const session = await sessionHere(conversations, call)
      const effective = await permissions.setMode(userId, session.id, chosen ?? null)
      const isLimited = chosen !== undefined && effective !== chosen
      return done(`${effective}: ${modeTexts[effective]}${isLimited ? ' Your plan does not allow more.' : ''}`)
    },
  }
  return [list, mode]
}

const modeTexts: Record<PolicyMode, string> = {
  strict: 'asks before every change and every contact once the conversation contains text from outside.',
  balanced: 'asks before contacting new places, sending to people, and commands on this machine.',
  trusting: 'asks only before sending to people and before commands on this machine.',
}

function describeAll(all: readonly Permission[]): string {
  if (all.length === 0) return 'No standing permissions.'
  return all.map((one) => `${one.id === null ? '' : `${one.id}  `}${describe(one)}${endOf(one)}`).join('\n')
}

function describe({ tool, effect, destination, sessionId }: Permission): string {
  const what = effect === 'reach' ? '' : ` (${effect})`
  return `${tool ?? 'every tool'} → ${destination}${what}${sessionId === null ? '' : ', in one conversation'}`
}

function endOf({ source, tool }: Permission): string {
  if (source === 'user') return ''
  return source === 'config' ? '  from the configuration' : `  approved with the tool ${tool ?? ''}`.trimEnd()
}
