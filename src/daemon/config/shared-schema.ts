import { z } from 'zod'
import { baseUrl, variableName } from './provider-schema.ts'

const s3Schema = z.strictObject({
  /** `https://s3.eu-central-1.amazonaws.com`, or any other server that speaks the same. */
  endpoint: baseUrl,
  region: z
    .string()
    .regex(/^[a-z0-9-]+$/, 'must be a region such as "eu-central-1"')
    .default('us-east-1'),
  bucket: z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket'),
  /** Before every key, for a bucket that others use as well. */
  prefix: z
    .string()
    // No step of it may be one that an address is cut short by.
    .regex(
      /^(?:[A-Za-z0-9_][A-Za-z0-9_.-]*(?:\/|$))*$/,
      'must be steps of letters, digits and _ . - such as "home/two"',
    )
    .default(''),
  /** The bucket as part of the path: what most servers other than Amazon's want. */
  path_style: z.boolean().default(false),
  /** The variables that hold the keys. */
  access_key_env: variableName.default('AWS_ACCESS_KEY_ID'),
  secret_key_env: variableName.default('AWS_SECRET_ACCESS_KEY'),
  session_token_env: variableName.exactOptional(),
  /** How much of it is kept on this machine. */
  cache_megabytes: z.int().nonnegative().max(1_000_000).default(1_024),
})

/** `[shared]` of `familiar.toml`: where media and capabilities lie when several daemons use one database. */
export const sharedSchema = z
  .strictObject({
    directory: z.string().startsWith('/', 'must be a whole path, such as "/mnt/familiar"').exactOptional(),
    s3: s3Schema.exactOptional(),
  })
  .refine(({ directory, s3 }) => directory === undefined || s3 === undefined, {
    path: ['directory'],
    error: 'and [shared.s3] cannot both be the shared place',
  })
  .prefault({})
