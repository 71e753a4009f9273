import { z } from 'zod'
import type { Json } from './json.ts'

/** Calls that wait for the user's word (SEC-16), and the word. */

export const approvalAnswerRequestSchema = z.strictObject({ answer: z.enum(['approve', 'deny']) })

export const approvalReplySchema = z.object({
  id: z.string(),
  session_id: z.string(),
  tool: z.string(),
  /** All that the call would be made with. */
  arguments: z.custom<Json>(),
  destination: z.string().nullable(),
  /** Why it is asked for. */
  reason: z.string(),
  /** What the user is asked in the conversation. */
  question: z.string(),
  state: z.enum(['asked', 'granted', 'denied', 'used']),
  asked_at: z.string(),
  expires_at: z.string(),
})
export type ApprovalReply = z.infer<typeof approvalReplySchema>

export const approvalsReplySchema = z.object({ approvals: z.array(approvalReplySchema) })
export type ApprovalsReply = z.infer<typeof approvalsReplySchema>
