import { z } from 'zod'
import { baseUrl } from './provider-schema.ts'

/** `[telemetry]` of `familiar.toml`. Without an address nothing is sent anywhere. */
export const telemetrySchema = z
  .strictObject({
    /** Where a collector takes OTLP over HTTP, such as `http://127.0.0.1:4318`: traces and metrics go to paths under it. */
    endpoint: baseUrl.exactOptional(),
    traces: z.boolean().default(true),
    metrics: z.boolean().default(true),
    service_name: z
      .string()
      .regex(/^[\w.-]{1,100}$/, 'must be a name of letters, digits and . _ -')
      .default('familiar'),
    metrics_interval_seconds: z.int().min(1).max(3_600).default(60),
  })
  .prefault({})
