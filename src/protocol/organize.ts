import { z } from 'zod'
import { operation, time, type Wire } from './operation.ts'

/** Folders of conversations, archiving and deleting several at once, and files made from them. */

const folderName = z
  .string()
  .trim()
  .min(1)
  .max(80)
  .refine((name) => name.isWellFormed() && !/\p{Cc}/u.test(name), 'must not contain control characters')

const folderSchema = z.object({ id: z.string(), name: z.string() })
export type FolderReply = Wire<typeof folderSchema>

/** Ids, or the names of active sessions. */
const sessionNames = z.array(z.string().min(1).max(200)).min(1).max(500)

const chosenSchema = z.strictObject({ sessions: sessionNames })
const changedSchema = z.object({
  /** The ids of the sessions. */
  sessions: z.array(z.string()),
})

export const exportFormats = ['md', 'json', 'html'] as const
export type ExportFormat = (typeof exportFormats)[number]
const maxExported = 100

export const folders = {
  list: operation('GET /api/v1/folders', 'List the folders of conversations, in the order of their names.', {
    scope: 'read',
    reply: z.object({ folders: z.array(folderSchema) }),
  }),
  add: operation('POST /api/v1/folders', 'Create a folder for conversations.', {
    scope: 'chat',
    body: z.strictObject({ name: folderName }),
    reply: folderSchema,
    status: 201,
  }),
  rename: operation('PUT /api/v1/folders/:id', 'Rename a folder.', {
    scope: 'chat',
    body: z.strictObject({ name: folderName }),
    reply: folderSchema,
  }),
  remove: operation('DELETE /api/v1/folders/:id', 'Remove a folder. Its conversations are kept.', {
    scope: 'chat',
    reply: folderSchema,
  }),
}

export const organize = {
  move: operation('PUT /api/v1/sessions/folder', 'Move sessions to a folder, or out of their folders.', {
    scope: 'chat',
    body: z.strictObject({
      sessions: sessionNames,
      /** The id of the folder; null: out of any folder. */
      folder: z.string().max(100).nullable(),
    }),
    reply: changedSchema,
  }),
  archive: operation('POST /api/v1/sessions/archive', 'Archive sessions. Nothing is deleted.', {
    scope: 'owner',
    body: chosenSchema,
    reply: changedSchema,
  }),
  unarchive: operation(
    'POST /api/v1/sessions/unarchive',
    'Continue archived sessions. Returns 409 if another session of the same contact is active.',
    { scope: 'owner', body: chosenSchema, reply: changedSchema },
  ),
  delete: operation(
    'POST /api/v1/sessions/delete',
    'Delete sessions. They are hidden at once, can be restored for 30 days, and are then removed for good.',
    { scope: 'owner', body: chosenSchema, reply: changedSchema },
  ),
  restore: operation('POST /api/v1/sessions/restore', 'Restore deleted sessions, by their ids.', {
    scope: 'owner',
    body: chosenSchema,
    reply: changedSchema,
  }),
  deleted: operation('GET /api/v1/sessions/deleted', 'List the sessions that can be restored, newest deletion first.', {
    scope: 'read',
    reply: z.object({
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
    }),
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
