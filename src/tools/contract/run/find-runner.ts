import type { FolderFile } from '../folder/tool-folder.ts'

export interface Runner {
  argv: readonly [string, ...string[]]
  program: string
  /** That has the program, where this machine has it not. */
  package: string
}

// In the order in which they are looked for.
const names = ['runner', 'main']
const languages: Record<string, { program: string; options: string[]; package: string }> = {
  py: { program: 'python3', options: ['-u'], package: 'python3' },
  sh: { program: 'bash', options: [], package: 'bash' },
  js: { program: 'node', options: [], package: 'nodejs' },
  mjs: { program: 'node', options: [], package: 'nodejs' },
}

/** What a tool without a Dockerfile runs, by the name of its file. */
export function findRunner(files: readonly FolderFile[]): Runner | undefined {
  for (const name of names) {
    for (const [ending, { program, options, ...rest }] of Object.entries(languages)) {
      const file = `${name}.${ending}`
      if (files.some(({ path }) => path === file)) return { argv: [program, ...options, file], program, ...rest }
    }
  }
  return undefined
}
