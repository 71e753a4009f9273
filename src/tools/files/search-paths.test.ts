import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { createPathSearch, createPathStore } from './fuzzy-search.ts'

function storeOf(paths: readonly string[]) {
  const store = createPathStore()
  for (const path of paths) store.add(path)
  return store
}

function find(paths: readonly string[], query: string): string[] {
  return createPathSearch(storeOf(paths))
    .search(query, 100)
    .matches.map(({ path }) => path)
}

describe('which paths match, and which is best', () => {
  it.each<[what: string, query: string, best: string, worse: string]>([
    ['the beginning of a word', 'fb', 'foo-bar', 'afbx'],
    ['the beginning of a part of the path', 'bar', 'foo/bar', 'foo/xbar'],
    ['a hump', 'fb', 'fooBar', 'foobar'],
    ['what follows without a gap', 'main', 'xmain', 'mxaxixn'],
    ['the shorter gap', 'ab', 'xa-xb', 'xa-xxxxxxb'],
    ['the name of the file', 'main', 'src/cli/main.ts', 'main/cli/start.ts'],
    ['the name of the file that is all of it', 'readme', 'a/b/readme.md', 'readme/a/b.md'],
    ['the shorter path', 'index', 'a/index.ts', 'a/b/index.ts'],
    ['a digit after letters', 'v2', 'api-v2.md', 'api-xv-x2.md'],
  ])('ASSET-6 prefers %s', (_what, query, best, worse) => {
    expect(find([worse, best], query)).toEqual([best, worse])
    expect(find([best, worse], query)).toEqual([best, worse])
  })

  it.each<[what: string, query: string, found: string[]]>([
    ['without case where there is none', 'readme', ['README.md', 'readme.txt']],
    ['with case where there is some', 'README', ['README.md']],
    ['each word by itself', 'md README', ['README.md']],
    ['all words, in any order', 'ts cli', ['src/cli/main.ts']],
    ['over folders', 's/c/m', ['src/cli/main.ts']],
    ['letters with marks by those without', 'arger', ['Ärger.md']],
    ['letters with marks by themselves', 'ärg', ['Ärger.md']],
    ['other scripts', '日本', ['日本語.md']],
    ['nothing that only looks alike in bytes', '日木', []],
    ['an emoji', '🦊', ['🦊.txt']],
    ['nothing', 'zzz', []],
  ])('ASSET-6 finds %s', (_what, query, found) => {
    const paths = ['README.md', 'readme.txt', 'src/cli/main.ts', 'Ärger.md', '日本語.md', '🦊.txt']
    expect(find(paths, query).sort()).toEqual([...found].sort())
  })

  it('ASSET-6 an empty query lists the first ones', () => {
    expect(find(['b', 'a', 'c'], ' ')).toEqual(['b', 'a', 'c'])
  })

  const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'B', '/', '-', 'ü', '日', ' '), maxLength: 8 })
  const someThere = fc.array(
    letters.filter((path) => path.trim() !== ''),
    { maxLength: 30 },
  )

  it('ASSET-6 typing step by step finds the same as typing at once', () => {
    fc.assert(
      fc.property(someThere, letters, fc.nat(), (paths, query, later) => {
        const store = storeOf(paths)
        const typed = createPathSearch(store)
        for (let length = 1; length < query.length; length += 1) typed.search(query.slice(0, length), 5)
        // Files are added and removed while the user types.
        if (store.count > 0) store.remove(later % store.count)
        store.add('ab/üB-日')
        expect(typed.search(query, 5)).toEqual(createPathSearch(store).search(query, 5))
      }),
      { numRuns: 500 },
    )
  })

  it('ASSET-6 the best few are the first of all', () => {
    fc.assert(
      fc.property(someThere, letters, (paths, query) => {
        const all = createPathSearch(storeOf(paths)).search(query, 1_000)
        const few = createPathSearch(storeOf(paths)).search(query, 3)
        expect(few).toEqual({ matches: all.matches.slice(0, 3), total: all.total })
        expect(all.matches).toHaveLength(all.total)
      }),
      { numRuns: 500 },
    )
  })

  it('ASSET-6 every path is restored, and any query is answered', () => {
    fc.assert(
      fc.property(
        anyText.filter((path) => path !== ''),
        anyText,
        (path, query) => {
          const store = storeOf(['x', path])
          expect(store.pathOf(1)).toBe(path)
          expect(createPathSearch(store).search(query, 5).total).toBeLessThanOrEqual(2)
        },
      ),
    )
  })

  it('ASSET-6 finds exactly the paths that have the letters in order', () => {
    const plain = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '/', '.'), minLength: 1, maxLength: 10 })
    fc.assert(
      fc.property(fc.array(plain), plain, (paths, query) => {
        const expected = new RegExp([...query].map((letter) => `\\${letter}`.replace(/\\([abc])/, '$1')).join('.*'))
        expect(find(paths, query).sort()).toEqual(paths.filter((path) => expected.test(path)).sort())
      }),
    )
  })
})
