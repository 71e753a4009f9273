import { z } from 'zod'
import { cardSchema } from './card.ts'
import { clientToolsSchema } from './client-tool.ts'
import type { StreamedEvent } from './event.ts'

/** What only the page asks for: how it is signed in, and a session from its newest part on. */

export const signInRequestSchema = z.strictObject({ code: z.string().min(1).max(200) })

export const signInReplySchema = z.object({
  name: z.string(),
  /** Sent along with every request, as "Authorization: Page …", beside the cookie. */
  page_key: z.string(),
})
export type SignInReply = z.infer<typeof signInReplySchema>

export const signOutRequestSchema = z.strictObject({
  /** `true`: every browser of the user, not this one alone. */
  everywhere: z.boolean().default(false),
  /** One other browser. Absent: this one. */
  browser: z.string().max(100).optional(),
})
export const signOutReplySchema = z.object({ ended: z.number().int() })
export type SignOutReply = z.infer<typeof signOutReplySchema>

/** Who looks at the page, and what it may do. */
export const whoReplySchema = z.object({
  name: z.string(),
  is_owner: z.boolean(),
  scope: z.enum(['owner', 'chat', 'read']),
  agent_name: z.string(),
  version: z.string(),
})
export type WhoReply = z.infer<typeof whoReplySchema>

export const turnEventsQuerySchema = z.strictObject({
  /** Only what happened before this place of the log. Absent: the newest. */
  before: z.coerce.number().int().positive().optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(400),
})

export const turnEventsReplySchema = z.object({
  /** In order. */
  events: z.array(z.custom<StreamedEvent>()),
  /** Where the stream goes on. */
  cursor: z.string(),
  /** What `before` shows what came earlier; null where nothing did. */
  before: z.number().int().nullable(),
})
export type TurnEventsReply = z.infer<typeof turnEventsReplySchema>

export const readRequestSchema = z.strictObject({ seq: z.number().int().nonnegative() })
export const renameRequestSchema = z.strictObject({ title: z.string().trim().max(200) })
export const cardDocumentRequestSchema = z.strictObject(cardSchema.shape)
export const cardDocumentReplySchema = z.object({ document: z.string() })
export type CardDocumentReply = z.infer<typeof cardDocumentReplySchema>

/** A session as the list at the side shows it. */
const pageSessionSchema = z.object({
  id: z.string(),
  channel: z.string(),
  contact: z.string(),
  /** What the user called it, or what it began with; null before anything was said. */
  title: z.string().nullable(),
  /** The newest words. */
  preview: z.string(),
  state: z.enum(['active', 'archived']),
  is_unread: z.boolean(),
  is_running: z.boolean(),
  updated_at: z.iso.datetime(),
})
export type PageSession = z.infer<typeof pageSessionSchema>
export const pageSessionsReplySchema = z.object({ sessions: z.array(pageSessionSchema) })
export type PageSessionsReply = z.infer<typeof pageSessionsReplySchema>

export const browsersReplySchema = z.object({
  browsers: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      created_at: z.iso.datetime(),
      seen_at: z.iso.datetime(),
      is_this: z.boolean(),
    }),
  ),
})
export type BrowsersReply = z.infer<typeof browsersReplySchema>

/** Absent: the owner. */
export const signInLinkRequestSchema = z.strictObject({ user: z.string().min(1).max(200).optional() })
export type SignInLinkRequest = z.infer<typeof signInLinkRequestSchema>
export const signInLinkReplySchema = z.object({ url: z.string(), minutes: z.number() })
export type SignInLinkReply = z.infer<typeof signInLinkReplySchema>

export const resendRequestSchema = z.strictObject({
  message_id: z.string().max(100),
  message: z.string().min(1),
  client_tools: clientToolsSchema.default([]),
})
export const resendReplySchema = z.object({ session_id: z.string(), message_id: z.string() })
export type ResendReply = z.infer<typeof resendReplySchema>
