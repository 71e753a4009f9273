import type { FolderFile } from '../contract/folder/tool-folder.ts'

/** Where a skill's folder is seen by its scripts. */
export const skillDirectory = '/skill'

const programs: Record<string, readonly [string, ...string[]]> = {
  py: ['python3', '-u', '-B'],
  sh: ['bash'],
  bash: ['bash'],
  js: ['node'],
  mjs: ['node'],
  cjs: ['node'],
}

/** What runs a file of a skill: by its ending, or itself where it may be executed. Undefined where it is no script. */
export function scriptCommand({ path, isExecutable }: FolderFile): readonly [string, ...string[]] | undefined {
  const ending = /\.([a-z]+)$/.exec(path)?.[1]
  const program = ending !== undefined && Object.hasOwn(programs, ending) ? programs[ending] : undefined
  const inside = `${skillDirectory}/${path}`
  if (program) return [...program, inside]
  return isExecutable ? [inside] : undefined
}
