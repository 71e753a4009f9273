import { z } from 'zod'
import { type Parsed, parseJson } from '../../../base/json.ts'

const changes = z.array(z.tuple([z.string(), z.string().nullable()]))

const reportSchema = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), value: z.string().nullable(), storage: changes }),
  z.object({
    ok: z.literal(false),
    kind: z.enum(['exception', 'exit', 'no_json', 'no_run', 'nothing', 'unsettled']),
    detail: z.string(),
    isService: z.boolean(),
    storage: changes,
  }),
])

/**
 * What the harness says over descriptor 3. `value` is a JSON text, as are the stored values, so that no number loses a digit
 * on the way; null where a piece of code was tried. Of `storage` a null is a deletion.
 */
export type HarnessReport = z.infer<typeof reportSchema>

export type StorageChanges = HarnessReport['storage']

/** The code shares a process with the harness, so a report is foreign text as well. */
export function readReport(bytes: Uint8Array): Parsed<HarnessReport> {
  return parseJson(new TextDecoder().decode(bytes), reportSchema)
}
