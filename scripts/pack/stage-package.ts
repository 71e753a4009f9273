import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createProgram } from '../../src/terminal/program.ts'
import { makeShrinkwrap } from './make-shrinkwrap.ts'
import { stripSource } from './strip-source.ts'

interface Manifest {
  version: string
  files: string[]
  scripts?: unknown
  devDependencies?: unknown
}

/** The output of `buildProgram`. */
export const made = ['dist', 'npm-shrinkwrap.json']

/** Makes `dist/` and `npm-shrinkwrap.json` of the repository in a folder. Throws where a file names one that is not there. */
export function buildProgram({ root, into }: { root: string; into: string }): void {
  const dist = join(into, 'dist')
  const named: string[] = []
  rmSync(dist, { recursive: true, force: true })
  for (const path of globSync('**/*', { cwd: join(root, 'src') })) {
    const source = join(root, 'src', path)
    if (!statSync(source).isFile() || /\.(test|d)\.ts$/.test(path)) continue
    mkdirSync(join(dist, dirname(path)), { recursive: true })
    if (!path.endsWith('.ts')) {
      cpSync(source, join(dist, path))
      continue
    }
    const { text, names } = stripSource(readFileSync(source, 'utf8'))
    writeFileSync(join(dist, path.replace(/\.ts$/, '.js')), text)
    named.push(...names.map((name) => join(dirname(path), name)))
  }
  checkNamed(dist, named)
  const page = join(root, '.runtime', 'page')
  if (existsSync(page)) cpSync(page, join(dist, 'page'), { recursive: true })
  writeFileSync(join(dist, 'help.txt'), helpText(readManifest(root).version))
  const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
  writeFileSync(join(into, 'npm-shrinkwrap.json'), makeShrinkwrap(lock))
}

/** Puts the whole package into a new folder, as npm would unpack it, without what is only for the repository. */
export function stagePackage({ root, into }: { root: string; into: string }): void {
  const { scripts: _scripts, devDependencies: _development, ...manifest } = readManifest(root)
  mkdirSync(into, { recursive: true })
  writeFileSync(join(into, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  const copied = [...manifest.files, 'README.md', 'LICENSE'].filter((pattern) => !made.includes(pattern))
  for (const path of globSync(copied, { cwd: root })) cpSync(join(root, path), join(into, path), { recursive: true })
  buildProgram({ root, into })
}

/** For a Node that is too old to run the program: it may ask what there is without fetching another one. */
function helpText(version: string): string {
  return createProgram({ version, homePath: '~/.familiar', run: async () => undefined }).helpInformation()
}

/** Files outside, such as the manifest, are at the same place beside `dist` as beside `src`. */
function checkNamed(dist: string, named: readonly string[]): void {
  const missing = named.filter((path) => !path.startsWith('..') && !existsSync(join(dist, path)))
  if (missing.length > 0) throw new Error(`Named and not there: ${missing.join(', ')}`)
}

function readManifest(root: string): Manifest {
  return JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
}
