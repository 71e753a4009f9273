import type { EmbeddingSettings } from '../../memory/embedding/embedding-settings.ts'
import type { Environment } from './environment.ts'
import type { Settings } from './settings-schema.ts'

/** The `[memory.embedding]` table with its key in place of the key's name. */
export function readEmbedding(source: {
  file: string
  embedding: Settings['memory']['embedding']
  environment: Environment
  warnings: string[]
}): EmbeddingSettings {
  const { provider, model, base_url: baseUrl, api_key_env: variable } = source.embedding
  const apiKey = variable === undefined ? undefined : source.environment.get(variable)?.value
  if (variable !== undefined && apiKey === undefined)
    source.warnings.push(`${source.file}: ${variable} is not set, so ${provider} embeds without a key`)
  return {
    provider,
    ...(model !== undefined && { model }),
    ...(baseUrl !== undefined && { baseUrl }),
    ...(apiKey !== undefined && { apiKey }),
  }
}
