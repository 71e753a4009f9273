import { z } from 'zod'

/** What the HTTP API says of skills. No request names a path, and the owner's word is given on this machine (SEC-4). */

const skillSummaryReplySchema = z.object({
  name: z.string(),
  description: z.string(),
  origin: z.enum(['workspace', 'imported', 'directory']),
  status: z.enum(['on', 'off', 'error']),
  /** Why it is not on, and what to do. */
  problem: z.string().nullable(),
  /** Its instructions stand in every prompt. */
  is_always: z.boolean(),
})
export type SkillSummaryReply = z.infer<typeof skillSummaryReplySchema>

export const skillsReplySchema = z.object({ skills: z.array(skillSummaryReplySchema) })
export type SkillsReply = z.infer<typeof skillsReplySchema>

export const skillReplySchema = skillSummaryReplySchema.extend({
  directory: z.string(),
  license: z.string().nullable(),
  compatibility: z.string().nullable(),
  /** What the model reads when it is loaded. */
  instructions: z.string(),
  files: z.array(z.object({ path: z.string(), bytes: z.number() })),
  notes: z.array(z.string()),
  /** Of everything in its folder: what a word for it is given for. */
  hash: z.string(),
})
export type SkillReply = z.infer<typeof skillReplySchema>

/** The hash as it was shown: a word is given for what somebody has seen. */
export const skillEnableRequestSchema = z.strictObject({ hash: z.string().max(100).optional() })
export type SkillEnableRequest = z.infer<typeof skillEnableRequestSchema>
