import { statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { homePaths } from '../../daemon/home-paths.ts'
import { usageError } from '../command-error.ts'

/** Where a database is, or is to be. */
export type Place =
  | { engine: 'postgres'; url: string }
  /** `home` where it is the database of one. */
  | { engine: 'sqlite'; path: string; home: string | undefined }

/** A URL of PostgreSQL, a home, or a file. */
export function readPlace(text: string): Place {
  if (/^postgres(ql)?:\/\//i.test(text)) {
    if (!URL.canParse(text)) throw usageError('That is not a URL of PostgreSQL.', 'postgres://user:password@host/name')
    return { engine: 'postgres', url: text }
  }
  if (/^\w+:\/\//.test(text)) throw usageError('A database is a postgres:// URL, a home or a file.')
  const path = resolve(text)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return homePlace(path)
  const home = dirname(path)
  return { engine: 'sqlite', path, home: basename(path) === basename(homePaths(home).database) ? home : undefined }
}

export function homePlace(home: string): Place {
  return { engine: 'sqlite', path: homePaths(home).database, home: resolve(home) }
}

/** As it may be shown: without a password. */
export function showPlace(place: Place): string {
  if (place.engine === 'sqlite') return place.path
  const url = new URL(place.url)
  if (url.password) url.password = '***'
  if (url.searchParams.has('password')) url.searchParams.set('password', '***')
  return url.href
}

/** One database under two spellings of its URL is caught later: its tables are not empty. */
export function isSamePlace(one: Place, other: Place): boolean {
  if (one.engine === 'sqlite') return other.engine === 'sqlite' && one.path === other.path
  return other.engine === 'postgres' && one.url === other.url
}
