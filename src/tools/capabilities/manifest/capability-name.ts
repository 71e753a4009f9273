import { isReservedName } from '../../contract/manifest/reserved-names.ts'

const slug = /^[a-z][a-z0-9_]{1,47}$/

/** Why this cannot be the name of a capability; undefined where it can. */
export function whyNoName(name: string): string | undefined {
  if (!slug.test(name)) return 'expected 2 to 48 small letters, digits and "_", beginning with a letter'
  return isReservedName(name) ? 'expected a name that Familiar does not keep for itself' : undefined
}
