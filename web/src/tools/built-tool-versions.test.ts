import { expect, it } from 'vitest'
import { fileTree } from './built-tool-versions.tsx'

it('PAGE-6 files are a tree: each folder once, files before folders', () => {
  const lines = fileTree(['lib/b/deep.py', 'main.py', 'RUN.md', 'lib/a.py'])
  expect(lines.map(({ path, depth, isFolder }) => [path, depth, isFolder])).toEqual([
    ['main.py', 0, false],
    ['RUN.md', 0, false],
    ['lib', 0, true],
    ['lib/a.py', 1, false],
    ['lib/b', 1, true],
    ['lib/b/deep.py', 2, false],
  ])
  expect(fileTree([])).toEqual([])
})
