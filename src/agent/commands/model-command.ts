import { type Command, done, misused } from './command.ts'
import type { CommandServices } from './command-services.ts'
import { sessionHere } from './session-of.ts'

/** Back to what the configuration says. */
const byRoute = 'default'

export function createModelCommand(
  services: Pick<CommandServices, 'conversations' | 'modelsOf' | 'chooseModel'>,
): Command {
  const { conversations, modelsOf, chooseModel } = services

  const model: Command = {
    name: 'model',
    usage: `/model [ID | ${byRoute}]`,
    summary: 'which model answers here, or have another one do it',
    changesForGood: false,
    agentMay: false,
    acts: (argument) => argument !== '',
    complete: async ({ userId }) => [
      ...modelsOf(userId)
        .list()
        .map(({ info }) => info.id),
      byRoute,
    ],
    async run(call) {
      const { userId, argument } = call
      if (argument === '') return describe(call)
      const isDefault = argument === byRoute
      if (!isDefault && !modelsOf(userId).byId(argument))
        return misused(`There is no model ${JSON.stringify(argument)}.`, model)
      const session = await sessionHere(conversations, call)
      await chooseModel(userId, session.id, isDefault ? null : argument)
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
    const models = modelsOf(userId)
    const chosen = session?.model
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
