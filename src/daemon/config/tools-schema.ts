import { isAbsolute } from 'node:path'
import { z } from 'zod'
import { isKnownPackage, knownPackages } from '../../models/ai-sdk-packages.ts'
import { type ProviderType, providerTypes } from '../../models/provider-connection.ts'
import { policyModes } from '../../protocol/permissions.ts'

/** Text of one form; the message says which. */
export function matching(form: RegExp, message: string) {
  return z.string().regex(form, message)
}

/** The key variables that are tried if the file names none; the first that is set counts. */
export const usualKeyVariables: Readonly<Partial<Record<ProviderType, readonly string[]>>> = {
  anthropic: ['ANTHROPIC_API_KEY'],
  openai: ['OPENAI_API_KEY'],
  google: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY', 'GOOGLE_API_KEY'],
}

export const baseUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https address' }).refine((url) => {
  if (!URL.canParse(url)) return true
  const { username, password } = new URL(url)
  return username === '' && password === ''
}, 'must not contain a user name or password')

export const variableName = matching(
  /^[A-Za-z_][A-Za-z0-9_]*$/,
  'must be the name of an environment variable, such as LOCAL_KEY',
)

export const count = z.int().positive()

/** A table that may be missing: then all its defaults count. */
export function table<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape).prefault({} as never)
}

export function flag(usual: boolean, text: string) {
  return z.boolean().default(usual).describe(text)
}

export function optional<Value extends z.ZodType>(value: Value, text: string) {
  return value.exactOptional().describe(text)
}

/** A whole number between two limits. */
export function whole([least, most]: readonly [number, number], usual: number, text: string) {
  return z.int().min(least).max(most).default(usual).describe(text)
}

export function choice<const Name extends string>(names: readonly Name[], usual: NoInfer<Name>, text: string) {
  return z
    .enum(names)
    .default(usual as never)
    .describe(text)
}

export function listOf<Item extends z.ZodType>(item: Item, text: string) {
  return z.array(item).default([]).describe(text)
}

/** For a check of several keys: it runs even if other keys are wrong, so that all mistakes are reported at once. */
export function mistakeAt(key: string, error: string) {
  return {
    path: [key],
    error,
    when: ({ value }: { value: unknown }) => typeof value === 'object' && value !== null,
  }
}

export const hostOrigin = z.string().refine(isOrigin, 'must be an origin such as "https://example.org"')

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text
}

const fromEnvironment = z.strictObject({ env: variableName })
/** Text, or its variable: `{ env = "NAME" }`. */
const value = z.union([z.string(), fromEnvironment], 'must be text or { env = "NAME" }')
const headerName = matching(/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/, 'must be the name of a header')
const body = z.record(z.string(), z.json())

const modelSchema = z.strictObject({
  model: z.string().min(1).describe('Name of the model at the provider.'),
  max_tokens: count.exactOptional().describe('Limit of tokens in one response.'),
  max_context_tokens: count.exactOptional().describe('Size of the context window.'),
  cost_per_mtok: z
    .array(z.number().nonnegative(), 'must be a list of 2 to 4 numbers: input, output, cache read, cache write')
    .min(2, 'must have 2 to 4 numbers: input, output, cache read, cache write')
    .max(4, 'must have 2 to 4 numbers: input, output, cache read, cache write')
    .exactOptional()
    .describe('USD per million tokens: input, output, cache read, cache write.'),
  cost_per_image: z
    .number()
    .nonnegative()
    .exactOptional()
    .describe('USD per picture, for a model that makes pictures.'),
  supports_vision: z.boolean().exactOptional().describe('Whether the model reads pictures.'),
  thinking_tokens: z.int().nonnegative().exactOptional().describe('Budget for thinking.'),
  strict_tools: z.boolean().exactOptional().describe('Whether the provider enforces tool schemas.'),
  one_call_at_a_time: z.boolean().exactOptional().describe('Whether to ask for one tool call per response.'),
  temperature: z.number().min(0).max(2).exactOptional().describe('Sampling temperature.'),
  body: body.exactOptional().describe('Extra fields of the request body. An empty text leaves a field out.'),
})

/** The schema of `providers.d/NAME.toml`. */
export const providerSchema = z
  .strictObject({
    type: z.enum(providerTypes).describe('Wire format.'),
    base_url: baseUrl.exactOptional().describe('Address of the API.'),
    api_key_env: optional(variableName, 'Variable that holds the key. anthropic, openai and google have usual names.'),
    package: optional(
      z.string().refine((name) => isKnownPackage(name), `must be one of: ${knownPackages.join(', ')}`),
      'Package, for type ai-sdk.',
    ),
    options: optional(
      z.record(z.string(), z.union([value, z.number(), z.boolean()], 'must be text, a number, or { env = "NAME" }')),
      'Options of the package.',
    ),
    headers: optional(z.record(headerName, value), 'Extra headers. A value is text or { env = "NAME" }.'),
    query: optional(z.record(z.string(), value), 'Extra query parameters. A value is text or { env = "NAME" }.'),
    body: body.exactOptional().describe('Extra fields of the request body, for all models.'),
    models: z
      .record(matching(/^[A-Za-z0-9][A-Za-z0-9._:-]*$/, 'must be a name of letters, digits and . _ : -'), modelSchema)
      .default({}),
  })
  .refine(
    (provider) => provider.type !== 'openai-compatible' || provider.base_url !== undefined,
    mistakeAt('base_url', 'is required for type "openai-compatible"'),
  )
  .refine(
    (provider) => (provider.type === 'ai-sdk') === (provider.package !== undefined),
    mistakeAt('package', 'is required for type "ai-sdk" and only valid there: package = "@ai-sdk/mistral"'),
  )

export type ProviderFile = z.output<typeof providerSchema>

const absolutePath = z.string().refine((path) => isAbsolute(path), 'must be an absolute path')

const webSearchSchema = z
  .strictObject({
    provider: z.enum(['brave', 'tavily', 'searxng']).describe('Search service.'),
    api_key_env: variableName.exactOptional().describe('Variable that holds the key.'),
    base_url: baseUrl.exactOptional().describe('Address of a SearXNG server.'),
  })
  .refine(
    ({ provider, base_url }) => provider !== 'searxng' || base_url !== undefined,
    mistakeAt('base_url', 'is required for provider "searxng"'),
  )
  .refine(
    ({ provider, api_key_env }) => provider === 'searxng' || provider === undefined || api_key_env !== undefined,
    mistakeAt('api_key_env', 'is required: the name of the variable with the key'),
  )

const speechSchema = z
  .strictObject({
    provider: choice(
      ['system', 'local', 'elevenlabs', 'off'],
      'system',
      'The voice in use. local needs `familiar voice install`.',
    ),
    api_key_env: variableName.exactOptional().describe('Variable that holds the key of ElevenLabs.'),
    voice: z.string().min(1).max(100).exactOptional().describe('Name of the voice.'),
  })
  .refine(
    ({ provider, api_key_env }) => provider !== 'elevenlabs' || api_key_env !== undefined,
    mistakeAt('api_key_env', 'is required for provider "elevenlabs"'),
  )

export const toolsSchema = table({
  enabled: flag(true, 'Whether the model has tools at all.'),
  disabled: listOf(
    matching(/^[A-Za-z0-9_-]{1,64}$/, 'must be the name of a tool'),
    'Tools that are switched off, by name.',
  ),
  directories: listOf(absolutePath, 'More folders of tools, next to tools/ in the home.'),
  web_search: webSearchSchema.exactOptional(),
  browser: table({ executable: absolutePath.exactOptional().describe('Path of Chromium. Default: search for it.') }),
  exec: table({
    host: choice(['ask', 'never'], 'ask', 'Whether exec may ask to run a command outside the sandbox.'),
  }),
  tts: speechSchema.prefault({}),
})

export const sandboxSchema = table({
  driver: choice(
    ['auto', 'embedded', 'container', 'off'],
    'auto',
    'Sandbox for code. embedded is bubblewrap, container is Docker or Podman.',
  ),
  container_socket: absolutePath.exactOptional().describe('Socket of Docker or Podman.'),
  python_index_url: z
    .url('must be an address such as "https://pypi.example.org/simple"')
    .refine(
      (text) => /^https?:/.test(text) && !new URL(text).username,
      'must be an http or https address without a password',
    )
    .exactOptional()
    .describe('Package index for Python packages of tools. Default: PyPI.'),
  npm_registry_url: z
    .url('must be an address such as "https://npm.example.org"')
    .refine(
      (text) => /^https?:/.test(text) && !new URL(text).username,
      'must be an http or https address without a password',
    )
    .exactOptional()
    .describe('Registry for npm packages of commands and skills. Default: npmjs.org.'),
})

const destination = z
  .string()
  .refine(
    (text) =>
      /^(?:mcp:|tool:)[a-z0-9_-]+$|^client:[A-Za-z0-9_-]+$/.test(text) || (/^https?:/.test(text) && isOrigin(text)),
    'must be an origin such as "https://example.org", or "mcp:NAME", "tool:NAME" or "client:NAME"',
  )

export const capabilitiesSchema = table({
  repair: choice(
    ['ask', 'auto', 'off'],
    'ask',
    'Whether a built tool that fails is repaired: after a question, by itself, or never.',
  ),
  max_rounds: whole([1, 1000], 25, 'Limit of model calls in one build.'),
  build_minutes: whole([1, 120], 10, 'Time limit of a build, without the time that it waits for you.'),
  max_concurrent_builds: whole([1, 100], 3, 'Limit of builds that run at once.'),
})

export const assetsSchema = table({
  roots: listOf(absolutePath, 'Folders outside the workspace that the agent may read and write.'),
  attachment_tokens: whole(
    [0, 1_000_000],
    20_000,
    'Limit of attached text in one message. The model reads the rest with a tool.',
  ),
  block_budget_tokens: whole([1_000, 1_000_000], 100_000, 'Limit of pinned text in the prompt.'),
})

export const skillsSchema = table({
  directories: listOf(absolutePath, 'More folders of skills, next to workspace/skills.'),
})

export const policySchema = table({
  mode: z
    .enum(policyModes)
    .default('balanced')
    .describe(
      'How often you are asked. strict asks most, trusting asks only before sending to people and commands on the machine.',
    ),
  destinations: listOf(
    destination,
    'Destinations that need no approval: an origin, mcp:NAME, tool:NAME or client:NAME.',
  ),
  approval_minutes: whole([1, 1440], 15, 'How long an approval request stays open.'),
})

const programSchema = z.strictObject({
  command: z.string().min(1).describe('Program to start.'),
  args: listOf(z.string(), 'Its arguments.'),
  environment: listOf(variableName, 'Variables that it receives, by name.'),
  sampling: z.boolean().optional().describe('Whether the server may use your fast model.'),
})

const addressSchema = z
  .strictObject({
    url: baseUrl.describe('Address of the server.'),
    header_env: z
      .record(matching(/^[A-Za-z0-9-]+$/, 'must be the name of a header'), variableName)
      .default({})
      .describe('Headers: the name and the variable that holds the value.'),
    oauth_client_id: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe('OAuth client id, for a server that does not register clients itself.'),
    oauth_client_secret_env: variableName.optional().describe('Variable that holds the OAuth client secret.'),
    oauth_grant: z
      .enum(['authorization_code', 'client_credentials'])
      .optional()
      .describe(
        'client_credentials: Familiar signs in by itself, with the secret or the key of the client. Default: you sign in.',
      ),
    oauth_private_key_env: variableName
      .optional()
      .describe('Variable that holds the private key of the OAuth client (PEM), for client_credentials.'),
    sampling: z.boolean().optional().describe('Whether the server may use your fast model.'),
  })
  .refine(
    ({ oauth_grant: grant, oauth_client_id: id, oauth_client_secret_env: secret, oauth_private_key_env: key }) =>
      grant !== 'client_credentials' || (id !== undefined && (secret ?? key) !== undefined),
    mistakeAt('oauth_grant', 'needs oauth_client_id, and oauth_client_secret_env or oauth_private_key_env'),
  )

export const mcpSchema = table({
  servers: z
    .record(
      matching(/^[a-z0-9][a-z0-9_-]{0,31}$/, 'must be a name of lower-case letters, digits, - and _'),
      z.union([programSchema, addressSchema], 'must have either a command or a url'),
    )
    .default({}),
})
