import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PackageIndex } from '../../src/custom-tools/packages.ts'

export const hasPip = spawnSync('/usr/bin/python3', ['-m', 'pip', '--version']).status === 0

// A wheel is a zip with a module and three files that say so.
const makeWheel = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + "/greeting-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("greeting/__init__.py", "word = 'Hello from a wheel'")
    wheel.writestr("greeting-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: greeting\\nVersion: 1.0\\n")
    wheel.writestr("greeting-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("greeting-1.0.dist-info/RECORD", "")
`

/** An index of packages on this machine that holds one, `greeting` 1.0. */
export function makeGreetingIndex(): { index: PackageIndex; remove(): void } {
  const wheels = mkdtempSync(join(tmpdir(), 'familiar-wheels-'))
  execFileSync('/usr/bin/python3', ['-c', makeWheel, wheels])
  return {
    index: {
      hosts: [],
      arguments: ['--no-index', '--find-links', '/wheels'],
      mounts: [{ source: wheels, target: '/wheels' }],
    },
    remove: () => rmSync(wheels, { recursive: true }),
  }
}
