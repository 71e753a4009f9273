import { FamiliarError } from '../../protocol/error.ts'
import type { ToolCatalog } from './tool-catalog.ts'

/** The catalog as each user has it (CLIENT-4): what their tier does not have, they neither see, set nor run. */
export function catalogOfTier(
  catalog: ToolCatalog,
  allows: (userId: string, toolName: string) => boolean,
): ToolCatalog {
  /** In the words that are said of a tool that nobody has. */
  function require(userId: string, name: string, where = ''): void {
    if (!allows(userId, name)) throw new FamiliarError('not_found', `There is no tool named ${name}${where}.`)
  }
  return {
    ...catalog,
    list: async (userId) => (await catalog.list(userId)).filter(({ name }) => allows(userId, name)),
    show: async (userId, name) => (allows(userId, name) ? catalog.show(userId, name) : undefined),
    async run(request) {
      require(request.userId, request.name, ' in the folders of tools')
      return catalog.run(request)
    },
    async config(userId, name) {
      require(userId, name)
      return catalog.config(userId, name)
    },
    async setConfig(userId, name, values) {
      require(userId, name)
      await catalog.setConfig(userId, name, values)
    },
    async deleteConfig(userId, name, key) {
      require(userId, name)
      await catalog.deleteConfig(userId, name, key)
    },
    async test(userId, name) {
      require(userId, name)
      return catalog.test(userId, name)
    },
  }
}
