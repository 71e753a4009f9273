import { z } from 'zod'
import type { Json } from './messages.ts'
import { onMachine, operation, time, type Wire } from './operation.ts'

/** Questions about single calls (SEC-16), and the standing permissions that make them unnecessary (SEC-6). */

/**
 * The effect of a call. `change` is local and can be undone, `reach` uses the network, `send` goes to other people,
 * `host` runs on the machine outside the sandbox, `later` acts when the user is not there.
 */
export const effects = ['read', 'change', 'reach', 'send', 'host', 'later'] as const
export type Effect = (typeof effects)[number]

/** From the one that asks most to the one that asks least. */
export const policyModes = ['strict', 'balanced', 'trusting'] as const
export type PolicyMode = (typeof policyModes)[number]

/** How long an approval lasts. */
export const approvalScopes = ['once', 'conversation', 'always'] as const
export type ApprovalScope = (typeof approvalScopes)[number]

/** A question for approval as the channels show it. It is stored with the question, so that it can be shown later too. */
export const shownApprovalSchema = z.object({
  tool: z.string(),
  /** The action and its place in one sentence. */
  sentence: z.string(),
  /** The part of the sentence that names the place; null if it names none. */
  place: z.string().nullable(),
  /** The arguments by name, as short texts. */
  details: z.array(z.object({ name: z.string(), value: z.string() })),
  reason: z.string(),
  scopes: z.array(z.enum(approvalScopes)),
  /** The scope of a lasting approval: `tool → place`. */
  covers: z.string(),
  /** The language of the sentence and the reason, `de`. Absent: English. */
  language: z.string().optional(),
})
export type ShownApproval = z.infer<typeof shownApprovalSchema>

/** The user's answer to a question for approval. */
export const approvalOutcomeSchema = z.object({
  id: z.string(),
  answer: z.enum(['approve', 'deny']),
  scope: z.enum(approvalScopes),
})
export type ApprovalOutcome = z.infer<typeof approvalOutcomeSchema>

export const approvalAnswerRequestSchema = z.strictObject({
  answer: z.enum(['approve', 'deny']),
  /** Default: this one call. */
  scope: z.enum(approvalScopes).optional(),
})

export const approvalReplySchema = z.object({
  id: z.string(),
  sessionId: z.string(),
  tool: z.string(),
  /** The complete arguments of the call. */
  arguments: z.custom<Json>(),
  destination: z.string().nullable(),
  /** Null in questions of earlier versions. */
  effect: z.enum(effects).nullable(),
  /** The answers that this question offers, beside denying. */
  scopes: z.array(z.enum(approvalScopes)),
  /** The first sentence of the question: what will happen, and where. */
  sentence: z.string(),
  /** The scope of a lasting approval: `tool → place`. */
  covers: z.string(),
  /** The arguments by name, as short texts, in the order in which the question shows them. */
  details: z.array(z.object({ name: z.string(), value: z.string() })),
  /** Why approval is needed. */
  reason: z.string(),
  /** The question in the conversation. */
  question: z.string(),
  /** The language of the question, `de`. Absent: English. */
  language: z.string().optional(),
  state: z.enum(['asked', 'granted', 'denied', 'used']),
  askedAt: time,
  expiresAt: time,
})
export type ApprovalReply = Wire<typeof approvalReplySchema>

export const approvalsReplySchema = z.object({ approvals: z.array(approvalReplySchema) })

export const approvals = {
  list: operation('GET /api/v1/approvals', 'List calls that wait for approval, oldest first.', {
    scope: 'read',
    reply: approvalsReplySchema,
  }),
  answer: operation(
    'POST /api/v1/approvals/:id',
    'Approve or deny a call. The agent then continues. A repeated answer has no effect.',
    { scope: 'chat', body: approvalAnswerRequestSchema, reply: approvalReplySchema },
  ),
}

export const permissionReplySchema = z.object({
  /** Null for a permission that follows from the configuration or from an enabled tool. */
  id: z.string().nullable(),
  /** The name of the tool; null: every tool. */
  tool: z.string().nullable(),
  effect: z.enum(effects),
  /** An origin, a recipient, a command or a rule for commands. */
  destination: z.string(),
  /** The conversation that it is for; null: all of them. */
  sessionId: z.string().nullable(),
  source: z.enum(['user', 'config', 'tool']),
  givenAt: time.nullable(),
  /** The channel that the user gave it in. */
  givenFrom: z.string().nullable(),
  expiresAt: time.nullable(),
})
export type PermissionReply = Wire<typeof permissionReplySchema>

export const permissionsReplySchema = z.object({
  /** Of conversations without a choice of their own. */
  mode: z.enum(policyModes),
  permissions: z.array(permissionReplySchema),
})

const given = {
  tool: z.string().trim().min(1).max(200),
  destination: z.string().trim().min(1).max(2_000),
  /** Only in this conversation. */
  session: z.string().min(1).max(200).optional(),
  until: time.optional(),
}

export const permissionAddRequestSchema = z.strictObject({
  ...given,
  effect: z.enum(['reach', 'send']).default('reach'),
})

/** Rules for commands on this machine are given on this machine only (SEC-4). */
export const localPermissionAddRequestSchema = z.strictObject({ ...given, effect: z.enum(effects).default('reach') })

export const modeRequestSchema = z.strictObject({
  /** Null: as the configuration says. */
  mode: z.enum(policyModes).nullable(),
})
export const modeReplySchema = z.object({
  sessionId: z.string(),
  mode: z.enum(policyModes).nullable(),
  /** The mode that applies: a plan may limit the choice. */
  effective: z.enum(policyModes),
})

export const permissions = {
  list: operation('GET /api/v1/permissions', 'List standing permissions, newest first.', {
    scope: 'read',
    reply: permissionsReplySchema,
  }),
  allow: operation('POST /api/v1/permissions', 'Let a tool reach a destination without asking.', {
    scope: 'owner',
    body: permissionAddRequestSchema,
    reply: permissionReplySchema,
    status: 201,
  }),
  allowHere: operation('POST /api/v1/local/permissions', 'Let a tool act without asking, by effect and destination.', {
    ...onMachine,
    body: localPermissionAddRequestSchema,
    reply: permissionReplySchema,
    status: 201,
  }),
  revoke: operation('DELETE /api/v1/permissions/:id', 'Revoke a permission. It applies from the next call.', {
    scope: 'chat',
    reply: permissionReplySchema,
  }),
  mode: operation('GET /api/v1/sessions/:id/permissions', 'Get the permission mode of a session.', {
    scope: 'read',
    reply: modeReplySchema,
  }),
  setMode: operation('PUT /api/v1/sessions/:id/permissions', 'Set the permission mode of a session.', {
    scope: 'chat',
    body: modeRequestSchema,
    reply: modeReplySchema,
  }),
}
