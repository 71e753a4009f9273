import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Beside what Familiar itself fetched, never inside of its own dependencies. */
export const peersFolder = join(import.meta.dirname, '../../.runtime/bench-peers')

/** From npm, in the exact versions of packages.json; what is there already is kept. Throws with npm's own words. */
export function installPeers(say: (line: string) => void): Record<string, string> {
  const wanted = readFileSync(join(import.meta.dirname, 'packages.json'), 'utf8')
  const { dependencies } = JSON.parse(wanted) as { dependencies: Record<string, string> }
  const file = join(peersFolder, 'package.json')
  const mark = join(peersFolder, 'installed')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return dependencies
  say('installing the peers (once, some minutes where a native module has to be compiled)')
  mkdirSync(peersFolder, { recursive: true })
  writeFileSync(file, wanted)
  writeFileSync(join(peersFolder, 'load.js'), 'export const load = (name) => import(name)\n')
  // Headers of this very Node: a native module that finds no prebuilt binary is compiled against them.
  const nodeFolder = join(dirname(process.execPath), '..')
  const npm = spawnSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: peersFolder,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}`, npm_config_nodedir: nodeFolder },
  })
  if (npm.status !== 0) throw new Error(`npm could not install the peers: ${npm.stderr || npm.error?.message}`)
  writeFileSync(mark, wanted)
  return dependencies
}
