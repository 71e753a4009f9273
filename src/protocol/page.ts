import { z } from 'zod'
import { sessionReplySchema } from './api.ts'
import type { StreamedEvent } from './events.ts'
import { cardSchema, clientToolsSchema } from './messages.ts'
import { asWritten, operation, ownerOnMachine, time, type Wire } from './operation.ts'

/** Operations for the page: sign-in, the list of sessions, and the newest events of a session. */

export const signInRequestSchema = z.strictObject({ code: z.string().min(1).max(200) })

export const signInReplySchema = z.object({
  name: z.string(),
  /** For the header `Authorization: Page …` of every request, in addition to the cookie. */
  page_key: z.string(),
})
export type SignInReply = z.infer<typeof signInReplySchema>

export const signOutRequestSchema = z.strictObject({
  /** `true`: sign out all browsers of the user. */
  everywhere: z.boolean().default(false),
  /** The id of another browser. Default: this one. */
  browser: z.string().max(100).optional(),
})
export const signOutReplySchema = z.object({ ended: z.number().int() })

export const mediaTextReplySchema = z.object({
  /** Empty if the file has none. */
  text: z.string(),
  /** Only the beginning. */
  isCut: z.boolean(),
})

/** `name`: as it is written in the message, with its `@`. */
export const mentionQuerySchema = z.strictObject({ name: z.string().min(2).max(1_100) })
export const mentionReplySchema = z.object({
  path: z.string(),
  /** The oldest first; the last one is the file as it is now. */
  versions: z.array(z.object({ version: z.number().int(), at: time.nullable(), content: z.string() })),
})

/** The signed-in user and the scope. */
export const whoReplySchema = z.object({
  name: z.string(),
  isOwner: z.boolean(),
  scope: z.enum(['owner', 'chat', 'read']),
  agentName: z.string(),
  version: z.string(),
  /** The command `familiar WORDS` as it works in a terminal of this machine. Replace `WORDS`. */
  command: z.string(),
  /** Whether this caller may connect models and change settings from here. */
  mayConfigure: z.boolean(),
})

export const turnEventsQuerySchema = z.strictObject({
  /** Only events before this position in the log. Default: the newest. */
  before: z.coerce.number().int().positive().optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(400),
})

export const turnEventsReplySchema = z.object({
  /** In order. */
  events: z.array(asWritten(z.custom<StreamedEvent>())),
  /** The cursor from which the stream continues. */
  cursor: z.string(),
  /** The value of `before` for the previous page; null if there is none. */
  before: z.number().int().nullable(),
})

export const readRequestSchema = z.strictObject({ seq: z.number().int().nonnegative() })
export const renameRequestSchema = z.strictObject({ title: z.string().trim().max(200) })
export const pinRequestSchema = z.strictObject({ pinned: z.boolean() })
export const cardDocumentRequestSchema = asWritten(z.strictObject(cardSchema.shape))
export const cardDocumentReplySchema = z.object({ document: z.string() })

/** A session in the sidebar. */
const pageSessionSchema = z.object({
  id: z.string(),
  channel: z.string(),
  contact: z.string(),
  /** Chosen by the user, or the first words; null for an empty session. */
  title: z.string().nullable(),
  /** The newest text. */
  preview: z.string(),
  state: z.enum(['active', 'archived']),
  isUnread: z.boolean(),
  isRunning: z.boolean(),
  isPinned: z.boolean(),
  /** The id of its folder. */
  folder: z.string().nullable(),
  /** Nothing of it is remembered. */
  isPrivate: z.boolean(),
  /** The model that the user chose for it; null lets the routes decide. */
  model: z.string().nullable(),
  updatedAt: time,
})
export type PageSession = Wire<typeof pageSessionSchema>
export const pageSessionsReplySchema = z.object({ sessions: z.array(pageSessionSchema) })

export const browsersReplySchema = z.object({
  browsers: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      createdAt: z.iso.datetime(),
      seenAt: z.iso.datetime(),
      isThis: z.boolean(),
    }),
  ),
})

/** Default: the owner. */
export const signInLinkRequestSchema = z.strictObject({ user: z.string().min(1).max(200).optional() })
export const signInLinkReplySchema = z.object({ url: z.string(), minutes: z.number() })

export const resendRequestSchema = z.strictObject({
  messageId: z.string().max(100),
  /** Default: the same text again. */
  message: z.string().min(1).optional(),
  clientTools: clientToolsSchema.default([]),
})
export const resendReplySchema = z.object({ sessionId: z.string(), messageId: z.string() })

export const branchRequestSchema = z.strictObject({ messageId: z.string().max(100) })
export const branchesReplySchema = z.object({
  branches: z.array(
    z.object({
      /** The first message of its turn. */
      messageId: z.string(),
      /** A message for each wording, this one included, in the order in which they were first sent. */
      edits: z.array(z.string()),
      /** A message for each answer to this wording, this one included, oldest first. */
      answers: z.array(z.string()),
    }),
  ),
})
export type MessageBranches = Wire<typeof branchesReplySchema>['branches'][number]

export const noticeKinds = [
  'approval',
  'question',
  'build_ready',
  'build_failed',
  'repair_ready',
  'repair_failed',
  'schedule',
  'reply',
  'reply_failed',
] as const

const noticeSchema = z.object({
  /** The same for as long as the notice exists. */
  id: z.string(),
  kind: z.enum(noticeKinds),
  /** The conversation or the tool. */
  title: z.string(),
  /** The question, or the first words of the reply; empty in a private conversation. */
  text: z.string(),
  /** The conversation in which it is answered or read; null for a build. */
  sessionId: z.string().nullable(),
  buildId: z.string().nullable(),
  at: time,
})
export type Notice = Wire<typeof noticeSchema>
export const noticesReplySchema = z.object({
  /** Newest first. One that is answered, read or expired is gone. */
  notices: z.array(noticeSchema),
})

export const page = {
  notices: operation(
    'GET /api/v1/page/notices',
    'List open questions and unread results. As a stream: the list (`notices`) now and after each change, and `sessions` when the list of sessions changed.',
    { scope: 'read', reply: noticesReplySchema, events: true },
  ),
  sessions: operation('GET /api/v1/page/sessions', 'List sessions with their title, preview and unread state.', {
    scope: 'read',
    reply: pageSessionsReplySchema,
  }),
  turnEvents: operation(
    'GET /api/v1/sessions/:id/turn-events',
    'List the newest events of the chosen branch of a session. With `before`, list earlier ones.',
    { scope: 'read', query: turnEventsQuerySchema, reply: turnEventsReplySchema },
  ),
  markRead: operation('PUT /api/v1/sessions/:id/read', 'Mark a session as read up to a position in its log.', {
    scope: 'chat',
    body: readRequestSchema,
    reply: sessionReplySchema,
  }),
  rename: operation('PUT /api/v1/sessions/:id/title', 'Rename a session. An empty title restores the default.', {
    scope: 'chat',
    body: renameRequestSchema,
    reply: sessionReplySchema,
  }),
  pin: operation('PUT /api/v1/sessions/:id/pin', 'Keep a session at the top of the list, or no longer.', {
    scope: 'chat',
    body: pinRequestSchema,
    reply: sessionReplySchema,
  }),
  resend: operation(
    'POST /api/v1/sessions/:id/resend',
    'Answer a message again, edited or as it is. The session continues with a new branch there and keeps the other ones.',
    { scope: 'chat', body: resendRequestSchema, reply: resendReplySchema, status: 201 },
  ),
  branches: operation('GET /api/v1/sessions/:id/branches', 'List the messages of a session that have alternatives.', {
    scope: 'read',
    reply: branchesReplySchema,
  }),
  chooseBranch: operation(
    'PUT /api/v1/sessions/:id/branch',
    'Continue a session with the branch that a message is part of.',
    { scope: 'chat', body: branchRequestSchema, reply: sessionReplySchema },
  ),
  removeBranch: operation(
    'DELETE /api/v1/sessions/:id/branches/:message',
    'Remove a message and what follows it from a session. Choosing its branch again restores it.',
    { scope: 'chat', reply: sessionReplySchema },
  ),
  media: operation('GET /api/v1/sessions/:id/media/:hash', 'Download a file of a session.', {
    scope: 'read',
    mediaTypes: ['application/octet-stream'],
  }),
  mediaText: operation(
    'GET /api/v1/sessions/:id/media/:hash/text',
    'Read the text of a PDF or Office file of a session.',
    {
      scope: 'read',
      reply: mediaTextReplySchema,
    },
  ),
  mention: operation(
    'GET /api/v1/sessions/:id/messages/:message/mention',
    'Get a text file or block that a message of the user names, with its earlier versions.',
    { scope: 'read', query: mentionQuerySchema, reply: mentionReplySchema },
  ),
  card: operation(
    'GET /api/v1/sessions/:id/cards/:call',
    'Get the card of a tool call as a document for a sandboxed frame.',
    { scope: 'read', reply: cardDocumentReplySchema },
  ),
  cardDocument: operation('POST /api/v1/page/card', 'Render a card as a document for a sandboxed frame.', {
    scope: 'chat',
    body: cardDocumentRequestSchema,
    reply: cardDocumentReplySchema,
  }),
}

export const signIn = {
  signIn: operation(
    'POST /api/v1/sign-in',
    'Sign in a browser with the code of a one-time link. Requests need both the cookie and the key.',
    { auth: 'optional', scope: 'read', body: signInRequestSchema, reply: signInReplySchema, showsSecret: true },
  ),
  signOut: operation('POST /api/v1/sign-out', 'Sign out this browser, another one, or all browsers of the user.', {
    scope: 'chat',
    body: signOutRequestSchema,
    reply: signOutReplySchema,
  }),
  browsers: operation('GET /api/v1/browsers', 'List signed-in browsers.', {
    scope: 'read',
    reply: browsersReplySchema,
  }),
  who: operation('GET /api/v1/who', 'Get the user and the scope of the token.', {
    scope: 'read',
    reply: whoReplySchema,
  }),
  link: operation('POST /api/v1/local/sign-in-link', 'Create a one-time link that signs in a browser.', {
    ...ownerOnMachine,
    body: signInLinkRequestSchema,
    reply: signInLinkReplySchema,
    status: 201,
    showsSecret: true,
  }),
}

export const secretLinks = {
  form: operation('GET /secret/:token', 'Get the form of a one-time link for a secret.', {
    auth: 'link',
    link: 'secret',
    scope: 'read',
    mediaTypes: ['text/html'],
  }),
  give: operation('POST /secret/:token', 'Store the secret from the form. The link works once.', {
    auth: 'link',
    link: 'secret',
    scope: 'read',
    rawBody: { mediaTypes: ['application/x-www-form-urlencoded'] },
    mediaTypes: ['text/html'],
  }),
}
