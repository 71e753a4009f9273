import { basename } from 'node:path'
import { sha256 } from '../../base/hash.ts'
import { canonicalJson } from '../../base/json.ts'
import { readSkill } from '../../skills/read-skill.ts'
import type { Skill, SkillOrigin } from '../../skills/skill.ts'
import type { SkillFingerprint } from '../../skills/skill-approval.ts'
import { readToolFolder } from '../contract/folder/read-tool-folder.ts'
import { readFolderText, type ToolFolder } from '../contract/folder/tool-folder.ts'
import { findHiddenIn } from '../contract/manifest/hidden-characters.ts'
import { type FoundSkillFolder, skillFiles } from './find-skill-folders.ts'

export interface LoadedSkill {
  kind: 'skill'
  name: string
  directory: string
  origin: SkillOrigin
  skill: Skill
  /** What it brings beside its SKILL.md. */
  files: readonly { path: string; bytes: number }[]
  fingerprint: SkillFingerprint
  /** Of everything in its folder. */
  hash: string
}

/** A folder that is a skill, or should be one. */
export type SkillEntry =
  | LoadedSkill
  | { kind: 'wrong'; name: string; directory: string; origin: SkillOrigin; problem: string }

const largestSkillFile = 256 * 1024

/** Never throws: a folder that is wrong says why. With what was read, of which only sizes are kept. */
export async function loadSkillFolder({
  directory,
  origin,
  problem,
}: FoundSkillFolder): Promise<{ entry: SkillEntry; folder: ToolFolder | undefined }> {
  const folderName = basename(directory)
  const wrong = (why: string) => ({
    entry: { kind: 'wrong' as const, name: folderName, directory, origin, problem: why },
    folder: undefined,
  })
  if (problem !== null) return wrong(problem)
  // Who else could have written it matters to nothing here: it is the home's own, or approved byte for byte.
  const reading = await readToolFolder(directory, { isPrivate: true })
  if (!reading.ok) return wrong(reading.problem)
  const { folder } = reading
  const main = folder.files.find(({ path }) => skillFiles.includes(path))
  const text = main && readFolderText(folder, main.path)
  if (!main || text === undefined) return wrong('SKILL.md is missing')
  if (main.bytes.length > largestSkillFile) return wrong('SKILL.md has more than 256 KB')
  const read = readSkill(text, { folder: folderName })
  if (!read.ok) return wrong(read.problem)
  const paths = folder.files.map(({ path }) => path)
  const hidden = findHiddenIn(text.replace(/^\ufeff/, ''), 'SKILL.md') ?? findHiddenIn(paths, 'the name of a file')
  if (hidden) return wrong(`${hidden.path}: there is a character that cannot be seen, ${hidden.character}`)
  const files = folder.files.filter((file) => file !== main)
  const entry: LoadedSkill = {
    kind: 'skill',
    name: read.skill.name,
    directory,
    origin,
    skill: read.skill,
    files: files.map(({ path, bytes }) => ({ path, bytes: bytes.length })),
    fingerprint: {
      instructions: sha256(text),
      files: sha256(canonicalJson(files.map(({ path, bytes, isExecutable }) => [path, sha256(bytes), isExecutable]))),
    },
    hash: folder.hash,
  }
  return { entry, folder }
}
