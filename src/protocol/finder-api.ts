import { z } from 'zod'

/** What `@` and `@@` offer while somebody types. */

export const finderQuerySchema = z.strictObject({
  kind: z.enum(['file', 'block']).default('file'),
  /** Some characters of the name in their order; words between spaces must all match. Empty: the first ones. */
  query: z.string().max(200).default(''),
  limit: z.coerce.number().int().min(1).max(100).default(20),
})

export const finderReplySchema = z.object({
  /** The best first. */
  found: z.array(
    z.object({
      /** A file's path from its root, or a block's label. */
      name: z.string(),
      /** What names it in a message: `@notes/a.md`, `@"my file.md"`, `@@plan.md`. */
      reference: z.string(),
    }),
  ),
  /** How many match. */
  total: z.number(),
  /** Not everything has been looked at yet: who asks again may be told more. */
  is_indexing: z.boolean(),
  /** There is more than can be searched. */
  is_cut: z.boolean(),
})
export type FinderReply = z.infer<typeof finderReplySchema>
