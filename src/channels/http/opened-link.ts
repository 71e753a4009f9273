import type { OneTimeLink } from '../../policy/one-time-links.ts'

/** A link that holds, and the token that stood in the path: to be used with, never to be logged or shown. */
export interface OpenedLink {
  link: OneTimeLink
  token: string
}
