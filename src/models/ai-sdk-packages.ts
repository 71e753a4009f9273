import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { z } from 'zod'
import { systemClock } from '../base/clock.ts'
import { createTextFileCache } from '../base/files.ts'
import { parseJson } from '../base/json.ts'
import { reasonOf } from '../base/text.ts'
import type { AiSdkWire } from './ai-sdk.ts'
import packageTable from './ai-sdk-packages.json' with { type: 'json' }
import { ModelError } from './model.ts'
import type { ProviderConnection } from './provider-connection.ts'

/**
 * The packages that a provider file may name, each in the version that was tested with this program. All of them accept
 * a `fetch`, so that their requests go through the guarded one.
 */
const packages: Readonly<Record<string, { version: string; factory: string; optionsKey: string }>> = packageTable

export const knownPackages = Object.keys(packages)

export function isKnownPackage(name: string): boolean {
  return Object.hasOwn(packages, name)
}

/** A peer dependency of all of them. */
const peer = 'zod@4.6.7'

/** `@ai-sdk/mistral@4.0.84` and its peer, as arguments for npm; empty for a package that may not be installed. */
export function pinnedPackages(name: string): string[] {
  return isKnownPackage(name) ? [`${name}@${packages[name]?.version}`, peer] : []
}

export interface HomePackages {
  directory: string
  /** The install command for this machine. */
  installCommand(name: string): string
}

type ProviderFactory = (options: object) => { languageModel(modelId: string): LanguageModelV4 }

/** A provider that uses one of these packages. It is loaded on first use. */
export function packageWire(
  { baseUrl, apiKey, settings, fetch, options = {} }: ProviderConnection,
  { name, home }: { name: string; home: HomePackages | undefined },
): AiSdkWire {
  const known = packages[name]
  if (!known) throw new ModelError('rejected', `${name} is not a supported package`, { retryable: false })
  const { factory, optionsKey } = known
  return {
    optionsKey,
    async load() {
      const loaded = await loadPackage(name, home)
      const create = loaded[factory]
      if (typeof create !== 'function') throw notLoaded(`does not export ${factory}`, name, home)
      const provider = (create as ProviderFactory)({
        ...options,
        ...(apiKey !== undefined && { apiKey }),
        ...(baseUrl !== '' && { baseURL: baseUrl }),
        fetch,
      })
      return provider.languageModel(settings.model)
    },
    callOptions: () => ({}),
    cacheBoundary: undefined,
    strictForm: 'closed',
    readsPdf: false,
    // None of these providers needs thinking back that they did not sign.
    canReplay: ({ replay }) => Object.keys(replay?.metadata ?? {}).length > 0,
  }
}

/** From this program's own packages if included there, otherwise from those in the home. */
async function loadPackage(name: string, home: HomePackages | undefined): Promise<Record<string, unknown>> {
  try {
    return (await import(name)) as Record<string, unknown>
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
  }
  const entry = home && entryOf(join(home.directory, 'node_modules', name))
  if (entry === undefined) throw notLoaded('is not installed', name, home)
  try {
    return (await import(pathToFileURL(entry).href)) as Record<string, unknown>
  } catch (error) {
    throw notLoaded(`could not be loaded: ${reasonOf(error)}`, name, home)
  }
}

function notLoaded(problem: string, name: string, home: HomePackages | undefined): ModelError {
  const command = home?.installCommand(name) ?? `familiar models install ${name}`
  return new ModelError('rejected', `${name} ${problem}. Install it with: ${command}`, { retryable: false })
}

const targetSchema = z.union([z.string(), z.object({ import: z.string().optional(), default: z.string().optional() })])
const manifestSchema = z.object({
  main: z.string().optional(),
  module: z.string().optional(),
  exports: z.object({ '.': targetSchema.optional() }).optional(),
})

/** The entry module of a package in a folder that Node does not search by itself. */
function entryOf(folder: string): string | undefined {
  const text = createTextFileCache(systemClock())(join(folder, 'package.json'))
  const manifest = text === undefined ? undefined : parseJson(text, manifestSchema)
  if (!manifest?.ok) return undefined
  const { main, module, exports } = manifest.value
  const target = exports?.['.']
  const entry = typeof target === 'string' ? target : (target?.import ?? target?.default ?? module ?? main)
  return entry === undefined ? undefined : join(folder, entry)
}
