import { z } from 'zod'

/** What a model is told of a tool. */
export const toolDefinitionSchema = z.object({
  name: z.string(),
  description: z.string(),
  /** JSON Schema of an object. */
  inputSchema: z.record(z.string(), z.json()),
  /** Ask the provider to hold the arguments to the schema, where it can. */
  strict: z.boolean().exactOptional(),
})
export type ToolDefinition = z.infer<typeof toolDefinitionSchema>

/**
 * What may happen to a call that was interrupted by a crash.
 * `idempotent` and `at-least-once` calls run again; an `at-most-once` call does not: its outcome is unknown.
 */
export type ToolEffect = 'idempotent' | 'at-most-once' | 'at-least-once'
