import { z } from 'zod'
import { type Parsed, parseAnyJson } from '../base/json.ts'
import { errorType } from '../base/telemetry/metrics.ts'
import { type Telemetry, timed } from '../base/telemetry/telemetry.ts'
import { reasonOf } from '../base/text.ts'
import type { Choices } from '../protocol/choices.ts'
import { errorStatus, FamiliarError } from '../protocol/errors.ts'
import type { Card, Json, Label, MediaPart, ToolDefinition, ToolEffect } from '../protocol/messages.ts'
import type { ShownApproval } from '../protocol/permissions.ts'
import type { Reach, Seen } from '../security/permissions.ts'
import { type Redactor, redactJson } from '../security/redactor.ts'
import type { Writer } from '../storage/database.ts'

export interface ToolContext {
  userId: string
  sessionId: string
  turnId: string
  callId: string
  /** The user's words in this turn, verbatim. Empty for an automated message, which is not the user speaking. */
  userText: string
  /** The question that the previous turn ended with, if any: `userText` is the answer. */
  answers: string | null
  /** The content in view of the model when it made the call: after untrusted content its arguments may be untrusted. */
  seen: Seen
  signal: AbortSignal
  progress(data: Json): void
  /** Whether a request of this call may follow a redirect to that address: a grant covers one origin (SEC-6d). */
  mayFollow(target: URL): Promise<boolean>
}

export interface ToolOutcome {
  text: string
  isError: boolean
  /** Ends the turn: the user's next message is the answer. */
  question?: string
  /** The answers that the question offers. */
  choices?: Choices
  /** Approvals that a sub-agent waits for. They end the turn with their questions, and the user answers them here. */
  asks?: readonly AskedApproval[]
  /** Tools whose schema is included in the following requests. */
  foundTools?: string[]
  /** With `isError`: an external service failed, which says little about the tool. */
  serviceFailed?: true
  /** With `isError`: it exceeded its time limit. */
  timedOut?: true
  /** The trust of the text; default `internal`. Untrusted content marks the session permanently. */
  label?: Label
  /** The text contains private data: memories, files, other conversations. Marks the session permanently. */
  isPrivate?: true
  card?: Card
  media?: MediaPart[]
  /** Paths in the workspace that are gone: files of this turn that were only needed on the way are not its result. */
  removedFiles?: string[]
  /** Text for the user that is sent at once, while the turn continues. */
  says?: string
  reaction?: string
  /** The build that it started or found running. */
  buildId?: string
  /** Temporary by nature: it never becomes memory. */
  isEphemeral?: true
  /** For the audit trail: its sandbox, and its reported remaining budget. */
  ran?: { driver: string | null; budgetRemaining: number | null }
}

/** A question for an approval that a sub-agent waits for. */
export interface AskedApproval {
  id: string
  question: string
  approval: ShownApproval
}

interface BegunCall extends Pick<ToolContext, 'userId' | 'sessionId' | 'turnId' | 'callId'> {
  input: Json
}

/** A call of the model, before it is decided whether it may start. */
export interface HeardCall extends BegunCall, Pick<ToolContext, 'userText' | 'answers'> {
  /** Whether a user could answer a question of this turn. */
  hasUser: boolean
}

/**
 * Thrown by `run` if the daemon is stopping and the call must continue after the next start. Nothing is recorded; the
 * call is made again then, so only an idempotent tool may throw this.
 */
export class CallSuspended extends Error {}

/**
 * Anything that the model can call.
 *
 * `run` gets the arguments exactly as the model wrote them and answers bad ones with an error outcome that says what is
 * wrong. It must stop when the signal aborts; it may throw only for its own bugs, which are reported to the model.
 */
export interface Tool {
  definition: ToolDefinition
  effect: ToolEffect
  /** It uses shared state: runs alone, in the order of the calls. */
  serial: boolean
  /** Core tools carry their schema in every request; the others are found with `find_tools`. */
  core: boolean
  /** Further names that work but are not advertised. */
  aliases: readonly string[]
  /** The client runs it: its calls are sent to the client, and `run` waits for the result. */
  isClients?: true
  /** Called in the unit that writes the start of the call: its writes are committed before the call becomes visible. */
  beginIn?(writer: Writer, call: BegunCall): Promise<void>
  /**
   * Called for each call, including one that waits for approval: the user's words may answer a question of the tool,
   * and the turn after the approval no longer has them. May be called twice for one call.
   */
  hears?(call: HeardCall): void
  /** A longer description, used for finding it. Never sent to a model. */
  documentation?: string
  /** The effect of this call. Must decide by the arguments alone, and take the stricter answer for bad ones. */
  reach(input: Json): Reach
  run(input: Json, context: ToolContext): Promise<ToolOutcome>
}

type JsonObject = { [key: string]: Json }

// Bounds that zod writes for every integer. They are useless for a model and cost tokens in every request.
const safeIntegers = [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]

/** The JSON Schema of a tool's arguments, without parts that models do not need. `strict` closes every object in it. */
function toolInputSchema(schema: z.ZodObject, strict: boolean): JsonObject {
  const { $schema: _, ...described } = z.toJSONSchema(schema, {
    io: 'input',
    override({ jsonSchema }) {
      if (jsonSchema.minLength === 1) delete jsonSchema.minLength
      if (safeIntegers.includes(jsonSchema.minimum ?? 0)) delete jsonSchema.minimum
      if (safeIntegers.includes(jsonSchema.maximum ?? 0)) delete jsonSchema.maximum
      if (typeof jsonSchema.additionalProperties === 'boolean') delete jsonSchema.additionalProperties
      if (strict && jsonSchema.type === 'object') jsonSchema.additionalProperties = false
    },
  })
  return described as JsonObject
}

const maxIssues = 5

interface ToolPlan<Input extends z.ZodObject> {
  name: string
  /** Sent with every request that offers the tool: each word costs tokens. */
  description: string
  input: Input
  effect: ToolEffect
  serial?: boolean
  core?: boolean
  aliases?: readonly string[]
  /** Default: it only reads. Called only with valid arguments. */
  reach?(input: z.output<Input>): Reach
  /** Asks the provider to enforce the schema; every object in it is closed. */
  strict?: boolean
  /** A FamiliarError with a status below 500 becomes an error outcome; any other exception is a bug of the tool. */
  run(input: z.output<Input>, context: ToolContext): Promise<ToolOutcome>
}

/** A tool whose arguments are validated by its schema. Bad arguments give an error outcome that names the field. */
export function defineTool<Input extends z.ZodObject>(plan: ToolPlan<Input>): Tool {
  const strict = plan.strict ?? false
  return {
    definition: {
      name: plan.name,
      description: plan.description,
      inputSchema: toolInputSchema(plan.input, strict),
      ...(strict && { strict }),
    },
    effect: plan.effect,
    serial: plan.serial ?? false,
    core: plan.core ?? false,
    aliases: plan.aliases ?? [],
    reach(input) {
      if (!plan.reach) return { kind: 'read', destination: null }
      const given = readArguments(input)
      const checked = given.ok ? plan.input.safeParse(given.value) : undefined
      // It does not run with these: `run` refuses them by the same schema, and the user is not asked about nothing.
      return checked?.success ? plan.reach(checked.data) : { kind: 'read', destination: null }
    },
    async run(input, context) {
      const given = readArguments(input)
      if (!given.ok) return failed(`Bad arguments for ${plan.name}. ${given.message}`)
      const checked = plan.input.safeParse(given.value)
      if (!checked.success) {
        const issues = checked.error.issues.slice(0, maxIssues)
        const listed = issues.map(({ path, message }) => `${path.join('.') || 'arguments'}: ${message}`)
        return failed(`Bad arguments for ${plan.name}. ${listed.join('; ')}`)
      }
      try {
        return await plan.run(checked.data, context)
      } catch (error) {
        if (error instanceof FamiliarError && errorStatus[error.code] < 500) return failed(error.message)
        throw error
      }
    },
  }
}

export function succeeded(text: string): ToolOutcome {
  return { text, isError: false }
}

export function failed(text: string): ToolOutcome {
  return { text, isError: true }
}

/** Some models send nothing for a tool without parameters, or an object that was encoded twice: both are accepted. */
export function readArguments(input: Json): Parsed<Json> {
  if (input === null || (typeof input === 'string' && input.trim() === '')) return { ok: true, value: {} }
  if (typeof input !== 'string') return { ok: true, value: input }
  const decoded = parseAnyJson(input)
  if (decoded.ok && typeof decoded.value === 'object') return { ok: true, value: decoded.value }
  const start = JSON.stringify(input.slice(0, 80).toWellFormed())
  const reason = decoded.ok ? 'plain text' : `invalid JSON (${decoded.message.slice(0, 120).toWellFormed()})`
  return {
    ok: false,
    message: `They must be a JSON object, but were ${reason}, starting with ${start}. Send them again.`,
  }
}

/** The outcome, progress and errors contain no secrets. Must be applied first: a secret cut in two cannot be found. */
export function redactTool(tool: Tool, redactor: Pick<Redactor, 'redact'>): Tool {
  return {
    ...tool,
    async run(input, context) {
      const progress: typeof context.progress = (data) => context.progress(redactJson(redactor, data))
      try {
        return redactJson(redactor, await tool.run(input, { ...context, progress }))
      } catch (cause) {
        const message = reasonOf(cause)
        const redacted = redactor.redact(message)
        throw redacted === message ? cause : new Error(redacted)
      }
    },
  }
}

export function watchTool(tool: Tool, telemetry: Telemetry): Tool {
  // Client tools and built tools are reported by their kind: their names are user text.
  const built = tool.definition.name.startsWith('cap_') ? 'capability' : tool.definition.name
  const target = tool.isClients ? 'client' : built
  const labels = { 'gen_ai.tool.name': target }
  const measured = {
    operation: 'execute_tool',
    target,
    kind: 'internal',
    attributes: { 'gen_ai.operation.name': 'execute_tool', ...labels },
    metric: 'gen_ai.execute_tool.duration',
    labels,
    failureOf,
  } as const

  return {
    ...tool,
    run(input, context) {
      // A suspended call continues after the next start, and is counted then.
      const errorOf = (cause: unknown) =>
        cause instanceof CallSuspended ? null : context.signal.aborted ? 'aborted' : errorType(cause)
      return timed(telemetry, { ...measured, errorOf }, () => tool.run(input, context))
    },
  }
}

function failureOf({ isError, timedOut, serviceFailed }: ToolOutcome): string | undefined {
  if (!isError) return undefined
  if (timedOut) return 'timeout'
  return serviceFailed ? 'service' : 'tool'
}
