import { dottedKey } from './check-toml.ts'
import type { ConfigProblem } from './config-problem.ts'
import { nearestName } from './nearest-name.ts'
import type { ReadProviders } from './read-providers.ts'
import type { TomlIndex, TomlPath } from './toml-index.ts'

/** Always there, whatever is configured. */
const offlineModelId = 'offline/offline'

/** Every route that leads nowhere. */
export function checkRoutes(source: {
  file: string
  index: TomlIndex
  routes: { sources: Readonly<Record<string, string[]>> } & Readonly<Partial<Record<string, unknown>>>
  tiers: Readonly<Record<string, { routes: object }>>
  read: ReadProviders
}): ConfigProblem[] {
  const { file, index, routes, tiers, read } = source
  const { sources, ...purposes } = routes
  const targets: { path: TomlPath; ids: string[] }[] = [
    ...Object.entries(purposes).map(([name, ids]) => ({ path: ['routes', name], ids: ids as string[] })),
    ...Object.entries(sources).map(([name, ids]) => ({ path: ['routes', 'sources', name], ids })),
    ...Object.entries(tiers).flatMap(([tier, { routes: own }]) =>
      Object.entries(own).map(([name, ids]) => ({ path: ['tiers', tier, 'routes', name], ids: ids as string[] })),
    ),
  ]
  return targets.flatMap(({ path, ids }) =>
    ids.flatMap((id, place) => {
      const message = describeUnknownModel(id, read)
      if (message === undefined) return []
      const exact = index.find([...path, place]) ? [...path, place] : path
      return [{ file, line: index.lineOf(exact), key: dottedKey(exact), message }]
    }),
  )
}

/** Undefined for a model that exists, or may. */
export function describeUnknownModel(id: string, { providers, broken }: ReadProviders): string | undefined {
  const known = [
    ...providers.flatMap((provider) => Object.keys(provider.models).map((model) => `${provider.name}/${model}`)),
    offlineModelId,
  ]
  if (known.includes(id) || broken.has(id.split('/')[0] ?? '')) return undefined
  const near = nearestName(id, known)
  return `${JSON.stringify(id)} is not a configured model${near ? `; did you mean ${near}?` : ''} (known: ${known.join(', ')})`
}
