import { z } from 'zod'
import { operation, time, type Wire } from './operation.ts'

/** Folders of conversations, archiving and deleting several at once, and files made from them. */

const folderName = z
  .string()
  .trim()
  .min(1)
  .max(80)
  .refine((name) => name.isWellFormed() && !/\p{Cc}/u.test(name), 'must not contain control characters')

export const folderRequestSchema = z.strictObject({ name: folderName })
export const folderReplySchema = z.object({ id: z.string(), name: z.string() })
export type FolderReply = Wire<typeof folderReplySchema>
export const foldersReplySchema = z.object({ folders: z.array(folderReplySchema) })

/** Ids, or the names of active sessions. */
const sessionNames = z.array(z.string().min(1).max(200)).min(1).max(500)

export const chosenSessionsRequestSchema = z.strictObject({ sessions: sessionNames })
export const changedSessionsReplySchema = z.object({
  /** The ids of the sessions. */
  sessions: z.array(z.string()),
})

export const moveSessionsRequestSchema = z.strictObject({
  sessions: sessionNames,
  /** The id of the folder; null: out of any folder. */
  folder: z.string().max(100).nullable(),
})

export const deletedSessionsReplySchema = z.object({
  sessions: z.array(
    z.object({
      id: z.string(),
      channel: z.string(),
      contact: z.string(),
      title: z.string().nullable(),
      deletedAt: time,
      /** It is removed for good at some time after this. */
      restorableUntil: time,
    }),
  ),
})

const exportFormats = ['md', 'json', 'html'] as const
export type ExportFormat = (typeof exportFormats)[number]
const maxExported = 100

export const folders = {
  list: operation('GET /api/v1/folders', 'List the folders of conversations, in the order of their names.', {
    scope: 'read',
    reply: foldersReplySchema,
  }),
  add: operation('POST /api/v1/folders', 'Create a folder for conversations.', {
    scope: 'chat',
    body: folderRequestSchema,
    reply: folderReplySchema,
    status: 201,
  }),
  rename: operation('PUT /api/v1/folders/:id', 'Rename a folder.', {
    scope: 'chat',
    body: folderRequestSchema,
    reply: folderReplySchema,
  }),
  remove: operation('DELETE /api/v1/folders/:id', 'Remove a folder. Its conversations are kept.', {
    scope: 'chat',
    reply: folderReplySchema,
  }),
}

export const organize = {
  move: operation('PUT /api/v1/sessions/folder', 'Move sessions to a folder, or out of their folders.', {
    scope: 'chat',
    body: moveSessionsRequestSchema,
    reply: changedSessionsReplySchema,
  }),
  archive: operation('POST /api/v1/sessions/archive', 'Archive sessions. Nothing is deleted.', {
    scope: 'owner',
    body: chosenSessionsRequestSchema,
    reply: changedSessionsReplySchema,
  }),
  unarchive: operation(
    'POST /api/v1/sessions/unarchive',
    'Continue archived sessions. Returns 409 if another session of the same contact is active.',
    { scope: 'owner', body: chosenSessionsRequestSchema, reply: changedSessionsReplySchema },
  ),
  delete: operation(
    'POST /api/v1/sessions/delete',
    'Delete sessions. They are hidden at once, can be restored for 30 days, and are then removed for good.',
    { scope: 'owner', body: chosenSessionsRequestSchema, reply: changedSessionsReplySchema },
  ),
  restore: operation('POST /api/v1/sessions/restore', 'Restore deleted sessions, by their ids.', {
    scope: 'owner',
    body: chosenSessionsRequestSchema,
    reply: changedSessionsReplySchema,
  }),
  deleted: operation('GET /api/v1/sessions/deleted', 'List the sessions that can be restored, newest deletion first.', {
    scope: 'read',
    reply: deletedSessionsReplySchema,
  }),
  export: operation(
    'GET /api/v1/sessions/export',
    'Export sessions as one file: Markdown, JSON, or an HTML page that loads and runs nothing.',
    {
      scope: 'read',
      query: z.strictObject({
        /** Ids, or the names of active sessions, separated by commas. */
        sessions: z
          .string()
          .min(1)
          .max(20_000)
          .transform((names) => names.split(',').filter(Boolean))
          .pipe(z.array(z.string().max(200)).min(1).max(maxExported)),
        format: z.enum(exportFormats).default('md'),
      }),
      mediaTypes: ['text/markdown', 'application/json', 'text/html'],
    },
  ),
}
