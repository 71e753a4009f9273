import { z } from 'zod'

/**
 * Whose words a text is: the owner's own, Familiar's, or those of anybody. Untrusted text is data to the reader,
 * whatever it says.
 */
export const labelSchema = z.enum(['owner', 'internal', 'untrusted'])
export type Label = z.infer<typeof labelSchema>
