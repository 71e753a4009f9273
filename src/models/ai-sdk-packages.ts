import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { z } from 'zod'
import { systemClock } from '../base/clock.ts'
import { createTextFileCache } from '../base/files.ts'
import { parseJson } from '../base/json.ts'
import type { AiSdkWire } from './ai-sdk.ts'
import { ModelError } from './model.ts'
import type { ProviderConnection } from './provider-connection.ts'

/**
 * The packages that a provider file may name, each in the version that was tested with this program. All of them accept
 * a `fetch`, so that their requests go through the guarded one.
 */
const packages: Readonly<Record<string, { version: string; factory: string; optionsKey: string }>> = {
  '@ai-sdk/amazon-bedrock': { version: '5.0.101', factory: 'createAmazonBedrock', optionsKey: 'bedrock' },
  '@ai-sdk/azure': { version: '4.0.85', factory: 'createAzure', optionsKey: 'azure' },
  '@ai-sdk/cohere': { version: '4.0.52', factory: 'createCohere', optionsKey: 'cohere' },
  '@ai-sdk/deepseek': { version: '3.0.56', factory: 'createDeepSeek', optionsKey: 'deepseek' },
  '@ai-sdk/fireworks': { version: '3.0.62', factory: 'createFireworks', optionsKey: 'fireworks' },
  '@ai-sdk/groq': { version: '4.0.81', factory: 'createGroq', optionsKey: 'groq' },
  '@ai-sdk/mistral': { version: '4.0.84', factory: 'createMistral', optionsKey: 'mistral' },
  '@ai-sdk/perplexity': { version: '4.0.49', factory: 'createPerplexity', optionsKey: 'perplexity' },
  '@ai-sdk/togetherai': { version: '3.0.54', factory: 'createTogetherAI', optionsKey: 'togetherai' },
  '@ai-sdk/xai': { version: '5.0.12', factory: 'createXai', optionsKey: 'xai' },
}

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

/** Provider packages in the home. */
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
      if (typeof create !== 'function') {
        throw new ModelError('rejected', `${name} does not export ${factory}. ${howToInstall(name, home)}`, {
          retryable: false,
        })
      }
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
  if (entry === undefined) {
    throw new ModelError('rejected', `${name} is not installed. ${howToInstall(name, home)}`, { retryable: false })
  }
  try {
    return (await import(pathToFileURL(entry).href)) as Record<string, unknown>
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ModelError('rejected', `${name} could not be loaded: ${reason}. ${howToInstall(name, home)}`, {
      retryable: false,
    })
  }
}

function howToInstall(name: string, home: HomePackages | undefined): string {
  return `Install it with: ${home?.installCommand(name) ?? `familiar models install ${name}`}`
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
