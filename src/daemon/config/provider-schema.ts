import { z } from 'zod'
import { type ProviderType, providerTypes } from '../../models/model-settings.ts'

/** Where a key is looked for when the file names no variable; the first that is set counts. */
export const usualKeyVariables: Readonly<Partial<Record<ProviderType, readonly string[]>>> = {
  anthropic: ['ANTHROPIC_API_KEY'],
  openai: ['OPENAI_API_KEY'],
  google: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY', 'GOOGLE_API_KEY'],
}

export const baseUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .refine((url) => !URL.canParse(url) || !hasCredentials(new URL(url)), 'must not hold a user name or password')

export const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable, such as LOCAL_KEY')

const count = z.int().positive()

const modelSchema = z.strictObject({
  model: z.string().min(1),
  max_tokens: count.exactOptional(),
  max_context_tokens: count.exactOptional(),
  /** Per million tokens: input, output, and where they differ cache read and cache write. */
  cost_per_mtok: z
    .array(z.number().nonnegative(), 'must be a list of 2 to 4 numbers: input, output, cache read, cache write')
    .min(2, 'must hold 2 to 4 numbers: input, output, cache read, cache write')
    .max(4, 'must hold 2 to 4 numbers: input, output, cache read, cache write')
    .exactOptional(),
  supports_vision: z.boolean().exactOptional(),
  thinking_tokens: z.int().nonnegative().exactOptional(),
  strict_tools: z.boolean().exactOptional(),
  one_call_at_a_time: z.boolean().exactOptional(),
  temperature: z.number().min(0).max(2).exactOptional(),
})

/** What `providers.d/NAME.toml` may hold, as it is written there. */
export const providerSchema = z
  .strictObject({
    type: z.enum(providerTypes),
    base_url: baseUrl.exactOptional(),
    api_key_env: variableName.exactOptional(),
    models: z
      .record(
        z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:-]*$/, 'must be a name of letters, digits and . _ : -'),
        modelSchema,
      )
      .default({}),
  })
  .refine((provider) => provider.type !== 'openai-compatible' || provider.base_url !== undefined, {
    path: ['base_url'],
    error: 'is needed for type "openai-compatible"',
    // Also where other keys are wrong: all mistakes are told at once.
    when: ({ value }) => typeof value === 'object' && value !== null,
  })

export type ProviderFile = z.output<typeof providerSchema>

function hasCredentials(url: URL): boolean {
  return url.username !== '' || url.password !== ''
}
