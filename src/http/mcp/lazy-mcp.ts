import type { McpEndpoint, McpNeeds } from './mcp-caller.ts'

/** Made by the first client that comes: the library takes 34 MB and a tenth of a second, which most daemons never need. */
export function createLazyMcp(needs: McpNeeds): McpEndpoint {
  let made: Promise<McpEndpoint> | undefined
  return {
    async handle(request, given) {
      made ??= import('./familiar-mcp.ts').then(({ createFamiliarMcp }) => createFamiliarMcp(needs))
      return (await made).handle(request, given)
    },
    close: async () => (await made)?.close(),
  }
}
