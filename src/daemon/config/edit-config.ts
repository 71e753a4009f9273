import { homePaths } from '../home-paths.ts'
import { type ConfigFiles, diskFiles, formatProblems } from './config.ts'
import type { ConfigFlags, StoredKeys } from './environment.ts'
import { loadConfig } from './load-config.ts'
import { renamedKeys } from './settings-schema.ts'
import { pathIn, removeTomlValue, setTomlValue, type TomlValue } from './toml.ts'

/** The home whose configuration is edited. */
export interface EditedHome {
  home: string
  env: Readonly<Record<string, string | undefined>>
  flags?: ConfigFlags
  stored?: StoredKeys
}

export type SettingDraft =
  | { ok: true; text: string; value: TomlValue | null }
  /** `not_editable`: the file cannot be changed without touching other keys. */
  | { ok: false; reason: 'not_editable' | 'not_allowed'; problems: string[] }

/**
 * The text of `familiar.toml` with one setting changed: to the first of the values that the configuration allows; null
 * removes the key. Comments and order stay, and nothing is written. Problems that the file had before do not count.
 */
export function draftSetting(
  home: EditedHome,
  path: readonly string[],
  values: readonly (TomlValue | null)[],
): SettingDraft {
  const before = diskFiles.read(homePaths(home.home).config) ?? ''
  const known = new Set(problemsOf(home, before))
  // A file with an old key keeps it: a new table beside it would be a second name for the same setting.
  const place = pathIn(before, path, renamedKeys)
  let problems: string[] = []
  for (const value of values) {
    const text = value === null ? removeTomlValue(before, place) : setTomlValue(before, place, value)
    if (text === undefined) return { ok: false, reason: 'not_editable', problems: [] }
    const found = problemsOf(home, text).filter((problem) => !known.has(problem))
    if (found.length === 0) return { ok: true, text, value }
    if (problems.length === 0) problems = found
  }
  return { ok: false, reason: 'not_allowed', problems }
}

/** The problems of the configuration with this text of `familiar.toml`, without line numbers, which an edit moves. */
export function problemsOf({ home, env, flags = {}, stored = {} }: EditedHome, text: string): string[] {
  const { config } = homePaths(home)
  const files: ConfigFiles = { ...diskFiles, read: (path) => (path === config ? text : diskFiles.read(path)) }
  const checked = loadConfig({ home, env, flags, stored, files })
  return checked.ok
    ? []
    : formatProblems(checked.problems, home).map((line) => line.replace(/^(\S+?):\d+(:\d+)?:/, '$1:'))
}
