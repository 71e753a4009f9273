import { z } from 'zod'

/** A result to look at. `html` is a rebuilt fragment of allowed elements only; it is still shown in a closed frame. */
export const cardSchema = z.object({
  title: z.string(),
  html: z.string(),
  /** The same for a terminal or a chat that shows no HTML. */
  text: z.string(),
  /** CSS colours, checked; null where the tool names none. */
  accentColor: z.string().nullable(),
  backgroundColor: z.string().nullable(),
  /** An emoji or the name of an icon; never an address to load. */
  icon: z.string().nullable(),
})
export type Card = z.infer<typeof cardSchema>
