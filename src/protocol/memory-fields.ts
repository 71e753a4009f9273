import { z } from 'zod'

/** What the bodies, queries and answers under `/memories` are made of. */

export const memoryKindSchema = z.enum(['note', 'fact', 'episode', 'commitment', 'chunk'])

export const share = z.number().min(0).max(1)

/** Any text: an imported memory may lie in a year that the usual check does not know. */
export const time = z.string().meta({ format: 'date-time' })
export const text = z.string().refine((value) => value.trim() !== '', 'needs some text')
export const name = text.max(200)
export const id = z.string().min(1).max(200)
/** A day such as 2026-11-20, all of it, or a moment with its zone. */
export const dayOrTime = z.union([z.iso.date(), z.iso.datetime({ offset: true })], {
  error: 'must be a day such as 2026-11-20, or a time such as 2026-11-20T18:00:00Z',
})
export const flag = z.enum(['true', 'false']).default('false')
export const limit = (most: number, usual: number) => z.coerce.number().int().min(1).max(most).default(usual)
