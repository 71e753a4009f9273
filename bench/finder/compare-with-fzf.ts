import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { createPathSearch, createPathStore } from '../../src/tools/files/fuzzy-search.ts'
import { rounded } from '../statistics.ts'
import { madeQueries } from './made-queries.ts'

export interface Agreement {
  /** How fzf was asked. */
  scheme: string
  files: number
  queries: number
  sameFirst: number
  /** Queries whose target is first, or among the first ten. */
  oursFirst: number
  oursInTen: number
  fzfFirst: number
  fzfInTen: number
  /** The mean of one through the rank, a rank past ten being none. */
  oursReciprocalRank: number
  fzfReciprocalRank: number
}

const fewestMatches = 50

/** Compares both on the same files of a real tree, with queries as a user would type them. */
export function compareWithFzf({ questions, seed }: { questions: number; seed: number }): Agreement[] | null {
  if (spawnSync('fzf', ['--version']).status !== 0) return null
  const repository = join(import.meta.dirname, '../..')
  const paths = ['node_modules', 'src', 'test', 'docs'].flatMap((folder) =>
    readdirSync(join(repository, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(repository, join(entry.parentPath, entry.name)))
      // Caches differ from machine to machine, and their names are hashes that find themselves.
      .filter((path) => !/(^|\/)\./.test(path)),
  )
  paths.sort()
  const store = createPathStore()
  for (const path of paths) store.add(path)
  const search = createPathSearch(store)
  // If only a few files match at all, any order finds the right one.
  const queries = madeQueries(paths, { count: questions * 20, seed })
    .filter(({ text }) => search.search(text, 1).total >= fewestMatches)
    .slice(0, questions)
  return ['default', 'path'].map((scheme) => {
    const pairs = queries.map(({ text, target }) => {
      const ours = search.search(text, 10).matches.map(({ path }) => path)
      const fzf = askFzf(scheme, text, paths)
      return { isSame: ours[0] === fzf[0], ours: ours.indexOf(target), fzf: fzf.indexOf(target) }
    })
    const count = (test: (pair: (typeof pairs)[number]) => boolean) => pairs.filter(test).length
    const reciprocal = (ranks: number[]) =>
      rounded(ranks.reduce((sum, rank) => sum + (rank < 0 ? 0 : 1 / (rank + 1)), 0) / ranks.length, 3)
    return {
      scheme,
      files: paths.length,
      queries: queries.length,
      sameFirst: count(({ isSame }) => isSame),
      oursFirst: count(({ ours }) => ours === 0),
      oursInTen: count(({ ours }) => ours >= 0),
      fzfFirst: count(({ fzf }) => fzf === 0),
      fzfInTen: count(({ fzf }) => fzf >= 0),
      oursReciprocalRank: reciprocal(pairs.map(({ ours }) => ours)),
      fzfReciprocalRank: reciprocal(pairs.map(({ fzf }) => fzf)),
    }
  })
}

function askFzf(scheme: string, query: string, paths: readonly string[]): string[] {
  const { stdout } = spawnSync('fzf', [`--scheme=${scheme}`, '--filter', query], {
    input: paths.join('\n'),
    maxBuffer: 1 << 28,
    env: { PATH: process.env.PATH },
  })
  return stdout.toString().split('\n').slice(0, 10)
}
