import type { z } from 'zod'
import { parseAnyJson } from '../base/json.ts'
import { errorStatus, FamiliarError } from '../protocol/error.ts'
import type { Json } from '../protocol/json.ts'
import type { ToolEffect } from '../protocol/tool.ts'
import type { Tool, ToolContext, ToolOutcome, ToolReach } from './tool.ts'
import { toolInputSchema } from './tool-input-schema.ts'

export interface ToolPlan<Input extends z.ZodObject> {
  name: string
  /** Sent with every request that offers the tool: each word costs. */
  description: string
  input: Input
  effect: ToolEffect
  serial?: boolean
  core?: boolean
  aliases?: readonly string[]
  /** Absent: it only reads. Asked only with arguments that fit. */
  reach?(input: z.output<Input>): ToolReach
  /** The provider is asked to hold the arguments to the schema; every object in it is closed. */
  strict?: boolean
  /** A FamiliarError with a status below 500 becomes an error outcome; anything else thrown is a fault of the tool. */
  run(input: z.output<Input>, context: ToolContext): Promise<ToolOutcome>
}

const readsOnly: ToolReach = { kind: 'reads', destination: null }

/** A tool whose arguments are checked by its schema. Bad arguments are an error outcome that names the field. */
export function defineTool<Input extends z.ZodObject>(plan: ToolPlan<Input>): Tool {
  const strict = plan.strict ?? false
  return {
    definition: {
      name: plan.name,
      description: plan.description,
      inputSchema: toolInputSchema(plan.input, { strict }),
      ...(strict && { strict }),
    },
    effect: plan.effect,
    serial: plan.serial ?? false,
    core: plan.core ?? false,
    aliases: plan.aliases ?? [],
    reach(input) {
      if (!plan.reach) return readsOnly
      const given = readArguments(input)
      const checked = given.ok ? plan.input.safeParse(given.value) : undefined
      // It will not run with these; were it to, nobody could say where it goes.
      return checked?.success ? plan.reach(checked.data) : { kind: 'acts', destination: null }
    },
    async run(input, context) {
      const given = readArguments(input)
      if (!given.ok) return failed(`Bad arguments for ${plan.name}. ${given.message}`)
      const checked = plan.input.safeParse(given.value)
      if (!checked.success) return failed(`Bad arguments for ${plan.name}. ${describeIssues(checked.error)}`)
      try {
        return await plan.run(checked.data, context)
      } catch (error) {
        if (error instanceof FamiliarError && errorStatus[error.code] < 500) return failed(error.message)
        throw error
      }
    },
  }
}

/** What a tool answers when all went well. */
export function succeeded(text: string): ToolOutcome {
  return { text, isError: false }
}

/** What a tool answers when it could not do what was asked: the model reads it and can try otherwise. */
export function failed(text: string): ToolOutcome {
  return { text, isError: true }
}

/** Some models send nothing for a tool without parameters, or an object that was encoded twice: both are understood. */
function readArguments(input: Json): { ok: true; value: Json } | { ok: false; message: string } {
  if (input === null) return { ok: true, value: {} }
  if (typeof input !== 'string') return { ok: true, value: input }
  if (input.trim() === '') return { ok: true, value: {} }
  const decoded = parseAnyJson(input)
  if (decoded.ok && typeof decoded.value === 'object') return { ok: true, value: decoded.value }
  const start = JSON.stringify(input.slice(0, 80).toWellFormed())
  const reason = decoded.ok ? 'a plain text' : `no valid JSON (${decoded.message.slice(0, 120).toWellFormed()})`
  return {
    ok: false,
    message: `They must be a JSON object, but ${reason} came, starting with ${start}. Send them again.`,
  }
}

const mostIssues = 5

function describeIssues(error: z.ZodError): string {
  return error.issues
    .slice(0, mostIssues)
    .map((issue) => `${issue.path.join('.') || 'arguments'}: ${issue.message}`)
    .join('; ')
}
