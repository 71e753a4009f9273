import { z } from 'zod'
import { defineTool, succeeded } from '../../define-tool.ts'
import type { Tool } from '../../tool.ts'
import { toolNameOf } from '../capability.ts'
import type { CapabilityCatalog } from '../catalog/catalog.ts'
import type { CapabilitySearch } from '../catalog/search.ts'
import { serves } from '../catalog/serves.ts'
import { describeCapability } from './describe-capability.ts'

const mostFound = 3

export function createLookupCapability(needs: { catalog: CapabilityCatalog; search: CapabilitySearch }): Tool {
  const { catalog, search } = needs
  return defineTool({
    name: 'lookup_capability',
    description: 'Find tools that you have built, by name or by what they do.',
    input: z.object({ query: z.string().min(1) }),
    effect: 'idempotent',
    core: true,
    async run({ query }, { userId, signal }) {
      const named = catalog.find(userId, query.trim().replace(/^cap_/, ''))
      const found = named
        ? [named]
        : (await search.search({ userId, text: query, limit: mostFound, signal })).map(({ capability }) => capability)
      if (found.length === 0) return succeeded('There is none. request_capability has one built.')
      const foundTools = found.filter(serves).map(({ name }) => toolNameOf(name))
      return { ...succeeded(found.map(describeCapability).join('\n')), foundTools }
    },
  })
}
