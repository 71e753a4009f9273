import { type Command, done, misused, refused } from './command.ts'
import type { CommandServices } from './command-services.ts'
import { sessionHere } from './session-of.ts'

/** Back to what the configuration says. */
const byRoute = 'default'

export function createModelCommand(
  services: Pick<CommandServices, 'conversations' | 'models' | 'sessionModels'>,
): Command {
  const { conversations, models, sessionModels } = services

  const model: Command = {
    name: 'model',
    usage: `/model [ID | ${byRoute}]`,
    summary: 'which model answers here, or have another one do it',
    changesForGood: false,
    agentMay: false,
    acts: (argument) => argument !== '',
    complete: async () => [...models.list().map(({ info }) => info.id), ...(sessionModels ? [byRoute] : [])],
    async run(call) {
      const { userId, argument } = call
      if (argument === '') return describe(call)
      const isDefault = argument === byRoute
      if (!isDefault && !models.byId(argument)) return misused(`There is no model ${JSON.stringify(argument)}.`, model)
      if (!sessionModels) {
        return refused(
          'The model of a single session cannot be changed here: the table [routes] of the configuration decides for all of them.',
        )
      }
      const session = await sessionHere(conversations, call)
      await sessionModels.set(userId, session.id, isDefault ? undefined : argument)
      return done(
        isDefault
          ? 'The configuration decides again which model answers here.'
          : `${argument} answers here from now on.`,
      )
    },
  }
  return model

  async function describe({ userId, sessionId }: { userId: string; sessionId: string | null }) {
    const session = sessionId === null ? undefined : await conversations.findSession(userId, sessionId)
    const chosen = session && (await sessionModels?.get(userId, session.id))
    const [first, ...fallbacks] = models.route('primary', session?.channel).map(({ info }) => info.id)
    const current = chosen ?? first ?? 'none'
    const others = models.list().flatMap(({ info }) => (info.id === current ? [] : [info.id]))
    return done(
      [
        `${current} answers here${chosen ? ', as you chose' : ''}.`,
        ...(fallbacks.length > 0 ? [`Where it fails: ${fallbacks.join(', ')}.`] : []),
        ...(others.length > 0 ? [`There are also: ${[...new Set(others)].join(', ')}.`] : []),
      ].join('\n'),
    )
  }
}
