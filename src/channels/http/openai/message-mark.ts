import { z } from 'zod'
import type { Json } from '../../../protocol/json.ts'

/** What is written down beside a message, so that the client's next list can be told from another one. */
const markSchema = z.object({
  said: z.string(),
  /** The hash of the client's instructions, and whether this message tells them. */
  instructions: z.string().optional(),
  tells: z.literal(true).optional(),
  /** The sender's `Idempotency-Key`. */
  key: z.string().optional(),
})
type MessageMark = z.infer<typeof markSchema>

export function markMetadata({ said, instructions, tells, key }: MessageMark): Record<string, Json> {
  return {
    openai: {
      said,
      ...(instructions !== undefined && { instructions }),
      ...(tells && { tells }),
      ...(key !== undefined && { key }),
    },
  }
}

/** Undefined for a message that came another way. */
export function readMark(metadata: Readonly<Record<string, Json>>): MessageMark | undefined {
  const read = markSchema.safeParse(metadata.openai)
  return read.success ? read.data : undefined
}
