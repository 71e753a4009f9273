import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, expect, it } from 'vitest'
import { anchorsOf, linksOf, readPages, root } from './pages.ts'

const paths = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.md', 'bench/**/*.md'], { cwd: root }).sort()

/** The problems of one link. */
function problemOf(page: string, link: string): string[] {
  if (/^[a-z]+:/i.test(link)) return []
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : normalize(join(dirname(page), decodeURI(path)))
  const file = join(root, target)
  if (!existsSync(file)) return [`${page}: ${link} does not exist`]
  if (anchor === undefined || !target.endsWith('.md') || statSync(file).isDirectory()) return []
  return anchorsOf(readFileSync(file, 'utf8')).has(anchor) ? [] : [`${page}: ${link} has no such heading`]
}

describe('links of the documentation', () => {
  it('every relative link and anchor exists', () => {
    const problems = paths.flatMap((path) =>
      linksOf(readFileSync(join(root, path), 'utf8')).flatMap((link) => problemOf(path, link)),
    )
    expect(problems).toEqual([])
  })

  it('a link to a missing page or heading is reported', () => {
    expect(problemOf('README.md', 'docs/nothing.md')).toHaveLength(1)
    expect(problemOf('README.md', 'docs/configuration.md#nothing')).toHaveLength(1)
    expect(problemOf('README.md', 'docs/configuration.md#familiartoml')).toEqual([])
  })

  it('the index names every guide', () => {
    const index = linksOf(readFileSync(join(root, 'docs/index.md'), 'utf8'))
    const guides = [...readPages().keys()].filter((path) => path.startsWith('docs/') && path !== 'docs/index.md')
    expect(guides.filter((path) => !index.includes(path.slice('docs/'.length)))).toEqual([])
  })

  it('every source file that a page names exists', () => {
    const named = [...readPages()].flatMap(([page, text]) =>
      [...text.matchAll(/`((?:src|test|scripts|bench|examples|docs|web)\/[\w./-]+)`/g)].map(([, path = '']) => ({
        page,
        path,
      })),
    )
    expect(named.length).toBeGreaterThan(20)
    const isThere = (path: string) => existsSync(join(root, path)) || /NAME|SUBJECT/.test(path)
    expect(named.filter(({ path }) => !isThere(path)).map(({ page, path }) => `${page}: ${path}`)).toEqual([])
  })

  it('the README is short', () => {
    expect(readFileSync(join(root, 'README.md'), 'utf8').split('\n').length).toBeLessThanOrEqual(151)
  })
})
