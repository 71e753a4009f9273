import { z } from 'zod'

/** What an import has written, for whoever wants it undone. */
export const importRecordSchema = z.object({
  kind: z.enum(['openclaw', 'hermes']),
  from: z.string(),
  at: z.string(),
  written: z.array(
    z.object({
      /** Inside the workspace. */
      path: z.string(),
      /** Of what was written: what was changed since is not taken away. */
      sha256: z.string(),
      way: z.enum(['new', 'starter', 'beside']),
    }),
  ),
})
export type ImportRecord = z.infer<typeof importRecordSchema>
export type WrittenFile = ImportRecord['written'][number]
