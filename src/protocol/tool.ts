import type { Json } from './json.ts'

/** What a model is told of a tool. */
export interface ToolDefinition {
  name: string
  description: string
  /** JSON Schema of an object. */
  inputSchema: { [key: string]: Json }
  /** Ask the provider to hold the arguments to the schema, where it can. */
  strict?: boolean
}

/**
 * What may happen to a call that was interrupted by a crash.
 * `idempotent` and `at-least-once` calls run again; an `at-most-once` call does not: its outcome is unknown.
 */
export type ToolEffect = 'idempotent' | 'at-most-once' | 'at-least-once'
