import { z } from 'zod'

/** All that is told: whoever asks needs no token. */
export const healthReplySchema = z.strictObject({ ok: z.literal(true) })
export type HealthReply = z.infer<typeof healthReplySchema>
