import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { SearchFigures } from './search-and-tell.ts'

const run = promisify(execFile)

export interface SearchRow {
  name: string
  /** By the number of memories. Words say why there is no figure. */
  sizes: Record<string, SearchFigures | string>
}

const searchers = [
  { name: 'Mastra, memory and recall', file: 'search-mastra.ts' },
  { name: 'LangGraph, SQLite', file: 'search-langgraph.ts' },
  { name: 'Familiar', file: 'search-familiar.ts' },
]

/** Each in a process of its own for each size, with the same lines, questions and vectors. */
export async function measureSearch(options: {
  sizes: readonly number[]
  questions: number
  /** For one contestant at one size, with filling. */
  limitMinutes: number
  say(line: string): void
}): Promise<SearchRow[]> {
  const { sizes, questions, limitMinutes, say } = options
  const rows: SearchRow[] = searchers.map(({ name }) => ({ name, sizes: {} }))
  for (const size of sizes) {
    for (const [index, { name, file }] of searchers.entries()) {
      say(`${name}: ${size} memories`)
      const args = [join(import.meta.dirname, file), String(size), String(questions)]
      const env = { PATH: process.env.PATH ?? '' }
      const row = rows[index]
      if (row)
        row.sizes[size] = await run(process.execPath, args, { timeout: limitMinutes * 60_000, env })
          .then(({ stdout }) => JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as SearchFigures)
          .catch((error: { killed?: boolean; stderr?: string; message: string }) =>
            error.killed ? `not done in ${limitMinutes} minutes` : `failed: ${reasonOf(error)}`,
          )
    }
  }
  return rows
}

/** The line that names the error, out of all that a process said before it ended. */
function reasonOf({ stderr, message }: { stderr?: string; message: string }): string {
  return (
    stderr
      ?.split('\n')
      .find((line) => /Error/.test(line))
      ?.trim() ?? message
  )
}
