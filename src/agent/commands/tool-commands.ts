import { rankTools } from '../../tools/rank-tools.ts'
import { type Command, done, never } from './command.ts'
import type { CommandServices } from './command-services.ts'
import { quoted } from './command-text.ts'

const mostShown = 40
const mostFound = 10
const nothingKnown = new Map<string, number>()

/** What the agent can do, and what it has been taught. */
export function createToolCommands(services: Pick<CommandServices, 'tools' | 'capabilities' | 'skills'>): Command[] {
  const { tools, capabilities } = services
  const toolsOf = (userId: string) => tools.viewOf(userId).list()

  const list: Command = {
    name: 'tools',
    usage: '/tools [QUERY]',
    summary: 'the tools of the agent, or those that fit',
    changesForGood: false,
    agentMay: true,
    acts: never,
    complete: async ({ userId }) => toolsOf(userId).map(({ definition }) => definition.name),
    async run({ userId, argument }) {
      const all = toolsOf(userId)
      const found =
        argument === ''
          ? all
          : rankTools(all, argument, { experience: nothingKnown, closeness: nothingKnown }).slice(0, mostFound)
      const entries = found.map(({ definition }) => ({ name: definition.name, description: definition.description }))
      return done(describe(entries, argument === '' ? 'There are no tools.' : `No tool fits ${quoted(argument)}.`))
    },
  }

  const caps: Command = {
    name: 'caps',
    usage: '/caps [QUERY]',
    summary: 'the capabilities that were built, or those that fit',
    changesForGood: false,
    agentMay: true,
    acts: never,
    complete: async ({ userId }) => capabilities.catalog.list(userId).map(({ name }) => name),
    async run({ userId, argument, signal }) {
      const found =
        argument === ''
          ? capabilities.catalog.list(userId)
          : (await capabilities.search.search({ userId, text: argument, limit: mostFound, signal })).map(
              ({ capability }) => capability,
            )
      const entries = found.map(({ name, description, state }) => {
        return { name: state === 'active' ? name : `${name} [${state}]`, description }
      })
      return done(
        describe(
          entries,
          argument === '' ? 'There are no capabilities yet.' : `No capability fits ${quoted(argument)}.`,
        ),
      )
    },
  }

  const skills: Command = {
    name: 'skills',
    usage: '/skills [NAME]',
    summary: 'the skills that there are',
    changesForGood: false,
    agentMay: true,
    acts: never,
    complete: async () => services.skills.list().map(({ name }) => name),
    async run({ argument }) {
      const wanted = argument.toLowerCase()
      const found = services.skills.list().filter(({ name }) => name.toLowerCase().includes(wanted))
      const entries = found.map(({ name, description, status, problem }) => {
        return status === 'on' ? { name, description } : { name: `${name} [${status}: ${problem ?? ''}]`, description }
      })
      // What the owner has not approved is described by whoever wrote it.
      const isUntrusted = found.some(({ origin, status }) => origin !== 'workspace' && status !== 'on')
      const none = argument === '' ? 'There are no skills.' : `No skill is named ${quoted(argument)}.`
      return done(describe(entries, none), isUntrusted ? { label: 'untrusted' } : {})
    },
  }
  return [list, caps, skills]
}

function describe(entries: readonly { name: string; description: string }[], none: string): string {
  if (entries.length === 0) return none
  const lines = entries
    .slice(0, mostShown)
    .map(({ name, description }) => `${name}: ${description.replaceAll(/\s+/g, ' ').trim()}`)
  const more = entries.length - lines.length
  return [...lines, ...(more > 0 ? [`… and ${more} more: say what you look for.`] : [])].join('\n')
}
