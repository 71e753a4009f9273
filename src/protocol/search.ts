import { z } from 'zod'
import { operation, time, type Wire } from './operation.ts'

/** One search over everything that a user has here. */

export const searchKinds = ['conversation', 'message', 'memory', 'note', 'file', 'tool', 'schedule', 'setting'] as const
export type SearchKind = (typeof searchKinds)[number]

const count = z.number().int()

const foundSchema = z.object({
  kind: z.enum(searchKinds),
  /** Of the session, memory, file or schedule; the name of a note or tool; the key of a setting. */
  id: z.string(),
  title: z.string(),
  snippet: z.object({
    /** One line of text around the words; empty if the title says it. */
    text: z.string(),
    /** The parts of it that match: start and end, in UTF-16 units. */
    marks: z.array(z.tuple([count, count])),
  }),
  /** The words in the forms in which they occur there. */
  words: z.array(z.string()),
  at: time.nullable(),
  /** Of a message. A message of the user has an id, a reply a turn. */
  message: z
    .object({ id: z.string().nullable(), turn: z.string().nullable(), role: z.enum(['user', 'assistant']) })
    .nullable(),
  /** Of a file: how a message names it. */
  reference: z.string().nullable(),
  /** Of a tool: `built` if Familiar built it. */
  tool: z.enum(['built', 'other']).nullable(),
})
export type FoundReply = Wire<typeof foundSchema>

export const searchReplySchema = z.object({
  /** By kind, the best of each kind first. */
  found: z.array(foundSchema),
})

export const foundFileReplySchema = z.object({
  name: z.string(),
  reference: z.string(),
  text: z.string(),
  /** Only the beginning. */
  isCut: z.boolean(),
})

export const search = {
  everything: operation(
    'GET /api/v1/search',
    'Search conversations, memory, notes, files, tools, schedules and settings. All words must match.',
    {
      scope: 'read',
      query: z.strictObject({
        q: z.string().trim().min(1).max(200),
        /** Separated by commas. Default: all. */
        kinds: z
          .string()
          .max(200)
          .transform((names) => names.split(',').filter(Boolean))
          .pipe(z.array(z.enum(searchKinds)).min(1))
          .optional(),
        /** Of each kind. */
        limit: z.coerce.number().int().min(1).max(50).default(6),
        /** `true`: the last word may be unfinished. */
        typing: z.enum(['true', 'false']).default('false'),
      }),
      reply: searchReplySchema,
    },
  ),
  file: operation('GET /api/v1/search/files/:id', 'Read the text of a file that a search has found.', {
    scope: 'read',
    reply: foundFileReplySchema,
  }),
}
