import { z } from 'zod'

/** What the HTTP API says of the commands that are typed with a slash. */

const lineSchema = z.string().max(20_000)
/** Name or id. Absent: there is no session yet. */
const sessionSchema = z.string().trim().min(1).max(200).optional()

export const commandsReplySchema = z.object({
  commands: z.array(
    z.object({
      name: z.string(),
      usage: z.string(),
      summary: z.string(),
      /** Some of what it does asks first. */
      changes_for_good: z.boolean(),
      agent_may: z.boolean(),
    }),
  ),
})
export type CommandsReply = z.infer<typeof commandsReplySchema>

export const completeCommandQuerySchema = z.strictObject({ line: lineSchema, session: sessionSchema })

export const completeCommandReplySchema = z.object({
  /** Where in the line the candidates begin, in UTF-16 units. */
  start: z.number().int(),
  candidates: z.array(z.object({ text: z.string(), summary: z.string().optional() })),
})
export type CompleteCommandReply = z.infer<typeof completeCommandReplySchema>

export const runCommandRequestSchema = z.strictObject({
  line: lineSchema.min(1),
  session: sessionSchema,
  /** From the question that the user has said yes to. */
  confirm: z.string().max(100).optional(),
})
export type RunCommandRequest = z.infer<typeof runCommandRequestSchema>

export const runCommandReplySchema = z.object({
  ok: z.boolean(),
  text: z.string(),
  /** Not null: nothing was done. The user is to be asked this; with their yes, send the line again with `confirm`. */
  question: z.object({ text: z.string(), confirm: z.string() }).nullable(),
  /** Name or id of the session in which the conversation goes on; null where it stays. */
  goes_on_in: z.string().nullable(),
})
export type RunCommandReply = z.infer<typeof runCommandReplySchema>
