import { rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { buildProgram, made, stagePackage } from './pack/stage-package.ts'

// Runs before and after `npm pack` (PACK-1): Node strips no types inside node_modules, so the package contains plain
// JavaScript. `--into FOLDER` puts the whole package there and leaves the repository unchanged.
const root = join(import.meta.dirname, '..')
const [word, folder] = process.argv.slice(2)

switch (word) {
  case undefined:
    buildProgram({ root, into: root })
    break
  case '--clean':
    for (const name of made) rmSync(join(root, name), { recursive: true, force: true })
    break
  case '--into':
    if (folder) stagePackage({ root, into: resolve(folder) })
    else usage()
    break
  default:
    usage()
}

function usage(): void {
  console.error('usage: pack.ts [--clean | --into FOLDER]')
  process.exitCode = 2
}
