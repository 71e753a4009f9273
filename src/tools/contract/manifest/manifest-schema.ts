import { z } from 'zod'

/** A name that is safe as a folder, in a URL and for every provider of models. */
export const slug = /^[a-z0-9][a-z0-9_-]{0,63}$/

/** A key of parameters or settings. Two underscores in front are kept for the machine. */
export const fieldName = /^(?!__)[A-Za-z_][A-Za-z0-9_.-]{0,63}$/

const anything = z.unknown()
const shortText = z.string().max(200)
const flag = z.boolean()

/**
 * What a manifest must be. Unknown keys are kept everywhere, and a section that is null is one that is not there; the
 * rest is as strict as it can be without refusing what is published for this contract.
 */
export const manifestSchema = z.looseObject({
  name: z.string().regex(slug, {
    error: 'expected up to 64 small letters, digits, "_" and "-", beginning with a letter or digit',
  }),
  description: z.string().trim().min(1).max(2_000),
  documentation: z.string().max(20_000).nullish(),
  version: z.union([z.string().max(60), z.number()], { error: 'expected a text or a number' }).nullish(),
  category: shortText.nullish(),
  icon: anything.optional(),
  trigger: z.looseObject({
    type: z.enum(['on_demand', 'cron', 'webhook']),
    schedule: shortText.nullish(),
    prompt: z.string().max(4_000).nullish(),
  }),
  parameters: z.union([z.record(z.string(), anything), z.array(anything)], { error: 'expected an object or a list' }),
  returns: anything,
  config_schema: z
    .union([z.record(z.string(), anything), z.array(anything)], { error: 'expected an object or a list' })
    .nullish(),
  output: z
    .looseObject({
      synthesize: flag.nullish(),
      ephemeral: flag.nullish(),
      label: z.enum(['internal', 'untrusted']).nullish(),
      card: z
        .looseObject({
          enabled: flag.nullish(),
          title: shortText.nullish(),
          accent_color: shortText.nullish(),
          background_color: shortText.nullish(),
        })
        .nullish(),
    })
    .nullish(),
  constraints: z
    .looseObject({ timeout_seconds: z.number().positive().nullish(), cost_budget: z.number().min(0).nullish() })
    .nullish(),
  sandbox: z
    .looseObject({
      memory: z.union([z.string(), z.number()], { error: 'expected a size such as "256m"' }).nullish(),
      network: z.enum(['none', 'bridge', 'host']).nullish(),
      hosts: z.array(z.string()).max(50).nullish(),
      writable: flag.nullish(),
    })
    .nullish(),
  notification: z.looseObject({ default_enabled: flag.nullish() }).nullish(),
  input: z.enum(['argument', 'stdin']).nullish(),
})
export type WrittenManifest = z.output<typeof manifestSchema>

/** One parameter, whether it stands under its name or in a list. */
export const parameterSchema = z.looseObject({
  type: z.enum(['string', 'integer', 'float', 'number', 'boolean', 'array', 'object']).nullish(),
  description: z.string().max(2_000).nullish(),
  required: flag.nullish(),
  default: z.json().nullish(),
  enum: z.array(z.json()).min(1).max(100).nullish(),
  items: z.record(z.string(), z.json()).nullish(),
})

/** One setting, whether it stands under its name or in a list. */
export const settingSchema = z.looseObject({
  description: z.string().max(2_000).nullish(),
  secret: flag.nullish(),
  required: flag.nullish(),
  default: z.json().nullish(),
})
