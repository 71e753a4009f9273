import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { type IgnoreChain, isIgnored, parseIgnoreRules } from './ignore-rules.ts'

const repository = mkdtempSync(join(tmpdir(), 'familiar-ignore-'))
afterAll(() => rmSync(repository, { recursive: true, force: true }))

interface Scene {
  /** .gitignore files by folder; '' is the top. */
  rules: Record<string, string>
  files: readonly string[]
}

/** Every file and folder of the scenes that git ignores; each scene has its own folder. */
function ignoredByGit(scenes: readonly Scene[]): string[][] {
  const git = (args: string[], input = '') => {
    const done = spawnSync('git', args, { cwd: repository, input, env: { PATH: process.env.PATH, HOME: repository } })
    return done.stdout.toString()
  }
  git(['init', '-q'])
  const asked = scenes.flatMap(({ rules, files }, index) => {
    // Git treats a missing path as a file.
    for (const { path, isFolder } of entriesOf(files)) {
      if (isFolder) mkdirSync(join(repository, `${index}`, path), { recursive: true })
    }
    for (const [folder, text] of Object.entries(rules)) {
      mkdirSync(join(repository, `${index}`, folder), { recursive: true })
      writeFileSync(join(repository, `${index}`, folder, '.gitignore'), text)
    }
    return entriesOf(files).map(({ path }) => `${index}/${path}`)
  })
  const ignored = new Set(git(['check-ignore', '--stdin', '-z'], asked.join('\0')).split('\0'))
  rmSync(repository, { recursive: true, force: true })
  mkdirSync(repository)
  expect(ignored.size).toBeGreaterThan(scenes.length)
  return scenes.map(({ files }, index) =>
    entriesOf(files).flatMap(({ path }) => (ignored.has(`${index}/${path}`) ? [path] : [])),
  )
}

function entriesOf(files: readonly string[]): { path: string; isFolder: boolean }[] {
  const folders = new Set<string>()
  for (const file of files) for (let at = dirname(file); at !== '.'; at = dirname(at)) folders.add(at)
  return [
    ...[...folders].map((path) => ({ path, isFolder: true })),
    ...files.map((path) => ({ path, isFolder: false })),
  ].sort((a, b) => (a.path < b.path ? -1 : 1))
}

function ignoredByUs({ rules, files }: Scene): string[] {
  const chainOf = (folder: string): IgnoreChain | undefined => {
    const outer = folder === '' ? undefined : chainOf(dirname(folder) === '.' ? '' : dirname(folder))
    const own = parseIgnoreRules(rules[folder] ?? '')
    return own ? { rules: own, base: folder === '' ? '' : `${folder}/`, outer } : outer
  }
  const decide = (path: string, isFolder: boolean): boolean => {
    const parent = dirname(path) === '.' ? '' : dirname(path)
    if (parent !== '' && decide(parent, true)) return true
    return isIgnored(chainOf(parent), { name: path.split('/').at(-1) ?? '', path, isFolder })
  }
  return entriesOf(files).flatMap(({ path, isFolder }) => (decide(path, isFolder) ? [path] : []))
}

const tree = [
  'a',
  'b.log',
  'c d',
  'x/a',
  'x/b.log',
  'x/y/a',
  'x/y/z/b.txt',
  'build/out/a.o',
  'src/build',
  'ü.md',
  '#a',
  '!a',
  'A',
  '[a]',
  'a b ',
  'foo/bar',
  'foo/x/bar',
  'foo/x/y/bar',
  '.env',
  'x/.env',
  'abc',
  'a-c',
  'foo-1/bar',
  'a\\b',
]

const lines = [
  'a',
  '*.log',
  '/a',
  'x/',
  'x/a',
  '/x/y',
  'build',
  'build/',
  'src/build/',
  '*',
  '!a',
  '*\n!*/\n!*.log',
  'x/*\n!x/y',
  'x\n!x/a',
  '**/a',
  'x/**',
  'foo/**/bar',
  '**/y/**',
  'foo/*/bar',
  'foo**bar',
  'foo**/bar',
  '***/a',
  'x/***',
  '?',
  '??',
  '?.md',
  '*.md',
  'ü.md',
  '[a]',
  '[!a]',
  '[^a-z]',
  String.raw`\[a\]`,
  '[a-c]bc',
  '[z-a]',
  '[[:upper:]]',
  '[[:alpha:]]*',
  '[[:nope:]]',
  '[[:alpha]',
  'a[',
  '[]a]',
  '[]-a]',
  '[a-]-c',
  'a[b-]c',
  String.raw`[\]a]`,
  '#a',
  String.raw`\#a`,
  String.raw`\!a`,
  'a   ',
  String.raw`c\ d`,
  'c d',
  String.raw`a\ b\ `,
  'a b ',
  'a\t',
  '\ufeffa',
  'a\r',
  '/',
  '//',
  '!',
  '',
  ' ',
  '\\',
  'a\\',
  String.raw`a\\b`,
  '.env',
  '/.env',
  '.*',
  '*.*',
  '/*',
  '/*/',
  '/**/',
  '**',
  '**/',
  '/**',
  '*/a',
  '*/*/a',
  'x/y/z',
  'x//a',
  './a',
  'x/./a',
  'x/[!z]',
  'x[/]a',
  'x?a',
  'foo-[0-9]/',
  'abc\nabc/\n!abc',
]

describe('ignored files of git', () => {
  it('ASSET-6 every kind of line gives the result of git check-ignore', () => {
    const scenes = lines.map((text): Scene => ({ rules: { '': text }, files: tree }))
    const expected = ignoredByGit(scenes)
    scenes.forEach((scene, index) => {
      expect
        .soft({ rules: scene.rules, ignored: ignoredByUs(scene) })
        .toEqual({ rules: scene.rules, ignored: expected[index] })
    })
  })

  it('ASSET-6 nested and negated rule files, in any combination', () => {
    const text = fc
      .array(
        fc.oneof(
          fc.constantFrom(...lines),
          fc.string({
            unit: fc.constantFrom('a', 'b', '*', '/', '?', '!', '[', ']', '.', '\\', 'x', 'y'),
            maxLength: 6,
          }),
        ),
        { maxLength: 6 },
      )
      .map((parts) => parts.join('\n'))
    const scene = fc.record({
      rules: fc.record({ '': text, x: text, 'x/y': text, foo: text }),
      files: fc.constant(tree),
    })
    const scenes = fc.sample(scene, { numRuns: 80, seed: 7 })
    const expected = ignoredByGit(scenes)
    scenes.forEach((one, index) => {
      expect
        .soft({ rules: one.rules, ignored: ignoredByUs(one) })
        .toEqual({ rules: one.rules, ignored: expected[index] })
    })
  })

  it('ASSET-6 accepts any text', () => {
    fc.assert(
      fc.property(anyText, anyText, (text, name) => {
        const rules = parseIgnoreRules(text)
        expect(['ignored', 'kept', undefined]).toContain(rules?.decide({ name, path: `x/${name}`, isFolder: false }))
      }),
    )
  })

  it('ASSET-6 ambiguous patterns are not slower', () => {
    const rules = parseIgnoreRules(`${'*a'.repeat(200)}b\n/${'**/*a*/'.repeat(50)}b`)
    const name = 'a'.repeat(2_000)
    expect(rules?.decide({ name, path: `x/${name}`, isFolder: false })).toBeUndefined()
  })
})
