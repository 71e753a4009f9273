import { z } from 'zod'
import { isShallow } from './is-shallow.ts'
import type { Json } from './json.ts'

const maxSchemaDepth = 32
const maxSchemaCharacters = 20_000

/** A tool that the client itself runs, as it tells of it with a message (CLIENT-1). */
const clientToolSchema = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be a name of letters, digits, - and _'),
  description: z.string().trim().min(1).max(2_000),
  input_schema: z
    .record(z.string(), z.custom<Json>())
    .refine((schema) => schema.type === 'object', 'must be the schema of an object')
    .refine((schema) => isShallow(schema, maxSchemaDepth), `must not be nested deeper than ${maxSchemaDepth} levels`)
    .refine(
      (schema) => JSON.stringify(schema).length <= maxSchemaCharacters,
      `must not be longer than ${maxSchemaCharacters.toLocaleString('en')} characters`,
    ),
})

export const clientToolsSchema = z
  .array(clientToolSchema)
  .max(32)
  .refine((tools) => new Set(tools.map(({ name }) => name)).size === tools.length, 'must not name a tool twice')
