import { isAbsolute } from 'node:path'
import { z } from 'zod'
import { baseUrl, variableName } from './provider-schema.ts'

const absolutePath = z.string().refine((path) => isAbsolute(path), 'must be an absolute path')

interface Keyed {
  provider?: string
  api_key_env?: string
  base_url?: string
}

const webSearchSchema = z
  .strictObject({
    provider: z.enum(['brave', 'tavily', 'searxng']),
    api_key_env: variableName.exactOptional(),
    /** Of a SearXNG server; the others have their own. */
    base_url: baseUrl.exactOptional(),
  })
  .refine(
    ({ provider, base_url }) => provider !== 'searxng' || base_url !== undefined,
    told('base_url', 'is needed for provider "searxng"'),
  )
  .refine(
    ({ provider, api_key_env }) => provider === 'searxng' || provider === undefined || api_key_env !== undefined,
    told('api_key_env', 'is needed: the name of the variable that holds the key'),
  )

const speechSchema = z
  .strictObject({
    provider: z.enum(['system', 'local', 'elevenlabs', 'off']).default('system'),
    api_key_env: variableName.exactOptional(),
    voice: z.string().min(1).max(100).exactOptional(),
  })
  .refine(
    ({ provider, api_key_env }) => provider !== 'elevenlabs' || api_key_env !== undefined,
    told('api_key_env', 'is needed for provider "elevenlabs"'),
  )

/** `[tools]` of `familiar.toml`. */
export const toolsSchema = z
  .strictObject({
    enabled: z.boolean().default(true),
    /** More folders of tools, beside `tools/` in the home. */
    directories: z.array(absolutePath).default([]),
    web_search: webSearchSchema.exactOptional(),
    browser: z.strictObject({ executable: absolutePath.exactOptional() }).prefault({}),
    exec: z.strictObject({ host: z.enum(['ask', 'never']).default('ask') }).prefault({}),
    tts: speechSchema.prefault({}),
  })
  .prefault({})

/** `[sandbox]` of `familiar.toml`. */
export const sandboxSchema = z
  .strictObject({
    driver: z.enum(['auto', 'embedded', 'container', 'off']).default('auto'),
    container_socket: absolutePath.exactOptional(),
  })
  .prefault({})

const destination = z
  .string()
  .refine(
    (text) =>
      /^(?:mcp:|tool:)[a-z0-9_-]+$|^client:[A-Za-z0-9_-]+$/.test(text) || (/^https?:/.test(text) && isOrigin(text)),
    'must be an origin such as "https://example.org", or "mcp:NAME", "tool:NAME" or "client:NAME"',
  )

/** `[capabilities]` of `familiar.toml`. */
export const capabilitiesSchema = z
  .strictObject({
    /** What becomes of one that fails in use: a repair is offered, begun by itself, or neither. */
    repair: z.enum(['ask', 'auto', 'off']).default('ask'),
    max_rounds: z.int().min(1).max(1000).default(25),
    /** What a build may take, without the time that the user is waited for. */
    build_minutes: z.int().min(1).max(120).default(10),
    max_concurrent_builds: z.int().min(1).max(100).default(3),
  })
  .prefault({})

/** `[assets]` of `familiar.toml`. */
export const assetsSchema = z
  .strictObject({
    /** Folders beside the workspace whose files can be read and written. */
    roots: z.array(absolutePath).default([]),
    block_budget_tokens: z.int().min(1_000).max(1_000_000).default(100_000),
  })
  .prefault({})

/** `[skills]` of `familiar.toml`. */
export const skillsSchema = z
  .strictObject({
    /** Folders of skills beside the one in the workspace. */
    directories: z.array(absolutePath).default([]),
  })
  .prefault({})

/** `[policy]` of `familiar.toml`. */
export const policySchema = z
  .strictObject({
    /** Where calls may go without being asked about, whatever was read before. */
    destinations: z.array(destination).default([]),
    approval_minutes: z.int().min(1).max(1440).default(15),
  })
  .prefault({})

const programSchema = z.strictObject({
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  /** The variables that it is given, by name. */
  environment: z.array(variableName).default([]),
})

const addressSchema = z.strictObject({
  url: baseUrl,
  /** A header's name and the variable that holds its value. */
  header_env: z.record(z.string().regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header'), variableName).default({}),
})

/** `[mcp.servers.NAME]` of `familiar.toml`. */
export const mcpSchema = z
  .strictObject({
    servers: z
      .record(
        z.string().regex(/^[a-z0-9][a-z0-9_-]{0,31}$/, 'must be a name of small letters, digits, - and _'),
        z.union([programSchema, addressSchema], 'must have either a command or a url'),
      )
      .default({}),
  })
  .prefault({})

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text
}

/** Also where other keys are wrong: all mistakes are told at once. */
function told(key: keyof Keyed, error: string) {
  return {
    path: [key],
    error,
    when: ({ value }: { value: unknown }) => typeof value === 'object' && value !== null,
  }
}
