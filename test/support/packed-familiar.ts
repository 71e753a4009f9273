import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stagePackage } from '../../scripts/pack/stage-package.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')

/** The arguments of npm as one command; rejects with its output. */
export async function npm(words: string[], cwd: string): Promise<string> {
  const quiet = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error', '--fetch-retries=0']
  return (await run('npm', [...words, ...quiet], { cwd, maxBuffer: 50_000_000 })).stdout.trim()
}

/** A tarball of this repository, as `npm pack` makes it, and the folder that it was made of. */
export async function packFamiliar(folder: string): Promise<{ tarball: string; staged: string }> {
  const staged = join(folder, 'staged')
  stagePackage({ root, into: staged })
  return { tarball: join(folder, await npm(['pack', '--pack-destination', folder], staged)), staged }
}

/**
 * Makes tarballs of several versions of this repository, without their dependencies: below `folder` they are found in the
 * repository's own, so that an installation takes a second and no network.
 */
export function createVersions(folder: string): {
  /** With `atStart` as the first thing that it does on a home. */
  pack(version: string, atStart?: string): string
  /** A program of one file in place of Familiar, under this name. */
  packSmall(version: string, program: string, name?: string): string
} {
  const staged = join(folder, 'package')
  stagePackage({ root, into: staged })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const manifest = JSON.parse(readFileSync(join(staged, 'package.json'), 'utf8'))
  const daemon = join(staged, 'dist', 'daemon', 'daemon.js')
  const ordinary = readFileSync(daemon, 'utf8')

  function tar(from: string, name: string, version: string): string {
    const file = join(folder, `familiar-${version}.tgz`)
    const { dependencies: _dependencies, ...rest } = manifest
    writeFileSync(join(folder, from, 'package.json'), JSON.stringify({ ...rest, name, version }))
    const lock = { name, version, lockfileVersion: 3, requires: true, packages: { '': { name, version } } }
    writeFileSync(join(folder, from, 'npm-shrinkwrap.json'), JSON.stringify(lock))
    const asPackage = ['--transform', `s,^${from},package,`]
    execFileSync('tar', ['--use-compress-program=gzip -1', '-cf', file, ...asPackage, from], { cwd: folder })
    return file
  }

  return {
    pack(version, atStart = '') {
      const changed = ordinary.replace(/export async function startDaemon\(options\s*\)\s*\{/, `$&${atStart}`)
      if (!changed.includes(atStart)) throw new Error('startDaemon was not found')
      writeFileSync(daemon, changed)
      return tar('package', manifest.name, version)
    },
    packSmall(version, program, name = manifest.name) {
      const from = `small-${version}`
      mkdirSync(join(folder, from, 'bin'), { recursive: true })
      writeFileSync(join(folder, from, 'bin', 'package.json'), '{"type":"commonjs"}')
      writeFileSync(join(folder, from, 'bin', 'familiar'), program, { mode: 0o755 })
      return tar(from, name, version)
    },
  }
}
