import { z } from 'zod'
import { whyNoName } from './capability-name.ts'

const secretName = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, {
  error: 'expected up to 64 letters, digits and "_", beginning with a letter',
})

/** What `manifest.json` must be. Unknown keys are kept, and a key that is null is one that is not there. */
export const manifestSchema = z.looseObject({
  name: z.string().check((context) => {
    const problem = whyNoName(context.value)
    if (problem !== undefined) context.issues.push({ code: 'custom', message: problem, input: context.value })
  }),
  description: z.string().trim().min(1).max(1_000),
  runtime: z.enum(['python', 'node']).nullish(),
  input_schema: z.looseObject({ type: z.literal('object') }),
  tags: z.array(z.string().trim().min(1).max(40)).max(20).nullish(),
  asked_as: z.array(z.string().trim().min(1).max(120)).max(8).nullish(),
  hosts: z.array(z.string()).max(50).nullish(),
  secrets: z
    .array(
      z.union([secretName, z.looseObject({ name: secretName, description: z.string().max(500).nullish() })], {
        error: 'expected a name of letters, digits and "_", or an object with "name" and "description"',
      }),
    )
    .max(20)
    .nullish(),
  storage: z.boolean().nullish(),
  timeout_seconds: z.number().min(1).max(180).nullish(),
  memory_mb: z.int().min(16).max(1_024).nullish(),
})
