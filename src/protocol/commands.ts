import { z } from 'zod'
import { turnOutcomeReplySchema } from './api.ts'
import { operation, time, type Wire } from './operation.ts'

export const spawnReplySchema = z.object({
  id: z.string(),
  /** Its own session, whose events can be streamed; null before it has started. */
  sessionId: z.string().nullable(),
  task: z.string(),
  /** Null: all tools of a sub-agent. */
  tools: z.array(z.string()).nullable(),
  model: z.string().nullable(),
  state: z.enum(['running', 'done', 'failed', 'stopped']),
  /** While it runs: its round, and the tools that run now. */
  doing: z.object({ round: z.number().int(), tools: z.array(z.string()) }).nullable(),
  result: z.object({ outcome: turnOutcomeReplySchema, text: z.string() }).nullable(),
  createdAt: time,
  endedAt: time.nullable(),
})
export type SpawnReply = Wire<typeof spawnReplySchema>

export const spawnsReplySchema = z.object({ spawns: z.array(spawnReplySchema) })

/** Slash commands. */

const lineSchema = z.string().max(20_000)
/** The name or id of the session, if there is one yet. */
const sessionSchema = z.string().trim().min(1).max(200).optional()

export const commandsReplySchema = z.object({
  commands: z.array(
    z.object({
      name: z.string(),
      usage: z.string(),
      summary: z.string(),
      /** Some of its actions ask for confirmation. */
      changesForGood: z.boolean(),
      agentMay: z.boolean(),
    }),
  ),
})
export type CommandsReply = Wire<typeof commandsReplySchema>

export const completeCommandQuerySchema = z.strictObject({ line: lineSchema, session: sessionSchema })

export const completeCommandReplySchema = z.object({
  /** The place in the line where the candidates start, in UTF-16 units. */
  start: z.number().int(),
  candidates: z.array(z.object({ text: z.string(), summary: z.string().optional() })),
})

export const runCommandRequestSchema = z.strictObject({
  line: lineSchema.min(1),
  session: sessionSchema,
  /** From the question that the user confirmed. */
  confirm: z.string().max(100).optional(),
})

export const runCommandReplySchema = z.object({
  ok: z.boolean(),
  text: z.string(),
  /** Not null: the command did not run. Ask the user, and if they agree send the line again with `confirm`. */
  question: z.object({ text: z.string(), confirm: z.string() }).nullable(),
  /** The name or id of the session in which the conversation continues; null if it does not change. */
  goesOnIn: z.string().nullable(),
})
export type RunCommandReply = Wire<typeof runCommandReplySchema>

export const commands = {
  list: operation('GET /api/v1/commands', 'List slash commands.', { scope: 'read', reply: commandsReplySchema }),
  complete: operation('GET /api/v1/commands/complete', 'Complete the command name or argument at the end of a line.', {
    scope: 'read',
    query: completeCommandQuerySchema,
    reply: completeCommandReplySchema,
  }),
  run: operation(
    'POST /api/v1/commands',
    'Run a command line. A permanent change returns a question first and does nothing until it is confirmed.',
    { scope: 'owner', body: runCommandRequestSchema, reply: runCommandReplySchema },
  ),
}

export const spawns = {
  list: operation('GET /api/v1/sessions/:id/spawns', 'List the sub-agents of a session, oldest first.', {
    scope: 'read',
    reply: spawnsReplySchema,
  }),
}
