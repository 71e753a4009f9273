import type { Database } from '../../storage/database.ts'

/** The people who speak in a user's conversations. `user` and `assistant` are no names. */
export interface SpeakerNames {
  /** Those whose names the text holds, as words of their own. */
  in(text: string): string[]
  /**
   * The text without their names. A name that half of all lines hold says nothing about a line, yet it would rule a small
   * embedding: without them meaning alone finds half as much again.
   */
  takenOut(text: string): string
}

export interface KnownSpeakers {
  of(userId: string): Promise<SpeakerNames>
}

const nobody: SpeakerNames = { in: () => [], takenOut: (text) => text }
const roles = ['user', 'assistant']
// No other sign may be escaped: a pattern of Unicode with an escape too many is an error.
const signOfPattern = /[\\^$.*+?()[\]{}|/]/g
const mostNames = 200
const freshMs = 10_000

/** Looked up at most every ten seconds for each user: names are few, and come seldom. */
export function createKnownSpeakers({ database, now }: { database: Database; now: () => number }): KnownSpeakers {
  const known = new Map<string, { names: Promise<SpeakerNames>; at: number }>()

  async function read(userId: string): Promise<SpeakerNames> {
    const rows = await database.read
      .selectFrom('memory_speakers')
      .select('name')
      .where('user_id', '=', userId)
      .orderBy('name')
      .limit(mostNames)
      .execute()
    return speakerNames(rows.map((row) => row.name))
  }

  return {
    of(userId) {
      const found = known.get(userId)
      if (found && now() - found.at < freshMs) return found.names
      const names = read(userId)
      // A failed look is not remembered.
      names.catch(() => known.delete(userId))
      known.set(userId, { names, at: now() })
      return names
    },
  }
}

export function speakerNames(names: readonly string[]): SpeakerNames {
  const people = names.filter((name) => name.trim() !== '' && !roles.includes(name.toLowerCase()))
  if (people.length === 0) return nobody
  const byFolded = new Map(people.map((name) => [name.toLowerCase(), name]))
  // Longest first, so that "Anna Maria" is not taken for Anna.
  const alternatives = people
    .toSorted((a, b) => b.length - a.length)
    .map((name) => name.replaceAll(signOfPattern, '\\$&'))
  const anyName = new RegExp(`(?<![\\p{L}\\p{N}])(${alternatives.join('|')})(?:['’]s)?(?![\\p{L}\\p{N}])`, 'giu')
  return {
    in(text) {
      const found = Array.from(text.matchAll(anyName), ([, name = '']) => byFolded.get(name.toLowerCase()))
      return [...new Set(found.filter((name) => name !== undefined))]
    },
    takenOut(text) {
      const rest = text.replace(anyName, ' ').replaceAll(/\s+/g, ' ').trim()
      // Nothing but a name stays as it is: an empty text has no meaning at all.
      return /[\p{L}\p{N}]/u.test(rest) ? rest.replace(/^[\s,;:!.]+/, '') : text
    },
  }
}
