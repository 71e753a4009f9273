import { z } from 'zod'
import { operation, ownerInPage, type Value, type Wire } from './operation.ts'

/** Connecting a model and changing settings in the page, for the owner on the machine itself (SEC-4a). */

const providerOfferSchema = z.object({
  /** For the other operations. */
  id: z.string(),
  label: z.string(),
  /** Empty: the user gives it. Null: the provider's own, which cannot be changed. */
  baseUrl: z.string().nullable(),
  /** Whether the address can be changed. */
  takesAddress: z.boolean(),
  /** `none`: local servers have no keys. */
  key: z.enum(['needed', 'optional', 'none']),
  /** A key is known already: a new one is not needed. */
  hasKey: z.boolean(),
  /** The web page where keys are made. */
  keyPage: z.string().nullable(),
  /** It answers on this machine, or its key is in the environment. */
  isFound: z.boolean(),
})
export type ProviderOffer = Wire<typeof providerOfferSchema>

export const offersReplySchema = z.object({ providers: z.array(providerOfferSchema) })

const providerFields = {
  /** The `id` of an offer. */
  provider: z.string().max(40),
  baseUrl: z.string().trim().max(500).optional(),
  apiKey: z.string().trim().max(1_000).optional(),
  /** The host of an address that is not the provider's own, as the owner has confirmed it: `llm.example.org:8443`. */
  confirmedHost: z.string().max(300).optional(),
}

export const tryProviderRequestSchema = z.strictObject(providerFields)
export type TryProvider = Value<typeof tryProviderRequestSchema>

export const tryProviderReplySchema = z.object({
  ok: z.boolean(),
  /** The words of the provider if it refused. */
  problem: z.string().nullable(),
  /** The names of its models. */
  models: z.array(z.string()),
  /** The one to start with; null without a suggestion. */
  suggested: z.string().nullable(),
})

export const connectModelRequestSchema = z.strictObject({
  ...providerFields,
  model: z.string().trim().min(1).max(200),
  /** Dollars per million tokens. Without them, budgets do not see its calls. */
  prices: z.strictObject({ input: z.number().nonnegative(), output: z.number().nonnegative() }).optional(),
  /** Saves it even if the test message fails. */
  isUntested: z.boolean().default(false),
})
export type ConnectModel = Value<typeof connectModelRequestSchema>

const problemFields = { ok: z.boolean(), problem: z.string().nullable() }

export const connectModelReplySchema = z.object({
  /** False: nothing was saved. */
  ...problemFields,
  /** The id of the model: `anthropic/main`. */
  model: z.string().nullable(),
  /** The model that answers now. It is another one if the environment names it. */
  current: z.string(),
})

export const changeSettingRequestSchema = z.strictObject({
  /** Null removes the key, so that the default counts. */
  value: z
    .union([z.string().max(500), z.number(), z.boolean(), z.array(z.union([z.string().max(200), z.number()])).max(100)])
    .nullable(),
})
export type SettingValue = z.infer<typeof changeSettingRequestSchema>['value']

export const changeSettingReplySchema = z.object({
  /** False: nothing was written. */
  ...problemFields,
  /** Settings that take effect at the next start. */
  restartNeeded: z.array(z.string()),
})
export type ChangeSettingReply = Wire<typeof changeSettingReplySchema>

export const telegramRequestSchema = z.strictObject({
  /** Of the bot. Absent: the stored one. */
  token: z.string().trim().max(200).optional(),
  /** The ids of the owner. */
  allowedIds: z.array(z.int().positive()).max(100),
})

export const setup = {
  offers: operation('GET /api/v1/setup/providers', 'List the providers that can be connected, and those found here.', {
    ...ownerInPage,
    reply: offersReplySchema,
  }),
  tryProvider: operation(
    'POST /api/v1/setup/try',
    'Ask a provider for its models, which checks its address and key. Nothing is saved.',
    { ...ownerInPage, body: tryProviderRequestSchema, reply: tryProviderReplySchema },
  ),
  connect: operation(
    'POST /api/v1/setup/models',
    'Connect a model and let it answer. It must reply to a test message first. The key is stored encrypted.',
    { ...ownerInPage, body: connectModelRequestSchema, reply: connectModelReplySchema },
  ),
  change: operation('PUT /api/v1/settings/:key', 'Change a setting. Only some settings can be changed here.', {
    ...ownerInPage,
    body: changeSettingRequestSchema,
    reply: changeSettingReplySchema,
  }),
  telegram: operation(
    'PUT /api/v1/setup/telegram',
    'Set the Telegram bot and its owner. The token is stored encrypted.',
    {
      ...ownerInPage,
      body: telegramRequestSchema,
      reply: changeSettingReplySchema,
    },
  ),
}
