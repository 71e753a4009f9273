import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { marker, quoteWord, systemdUnit } from './service-manager.ts'

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0
const definition = {
  command: [process.execPath, `/opt/my "own" $dir/100% ‘real’ \\/bin/familiar`, 'serve', '--home', "/home/o'neill/a b"],
  environment: { PATH: '/usr/bin:/opt/with space/bin' },
  logFile: '/unused',
}

const special = fc.constantFrom('%', '$', '\\', '"', "'", ' ', '\n', '\t', 'x', ';', '#')

/** How systemd reads one quoted word if "$" stays as it is. */
function readAsSystemd(quoted: string): string {
  return quoted
    .slice(1, -1)
    .replace(/\\x([0-9a-f]{2})|\\(.)|%%/g, (whole, code: string | undefined, escaped: string | undefined) => {
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16))
      return whole === '%%' ? '%' : (escaped ?? '')
    })
}

describe('the unit of systemd', () => {
  it('PACK-3 holds every word as it is', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: special })), (word) => {
        const quoted = quoteWord(word)
        expect(quoted).not.toMatch(/[\n\r]/)
        expect(quoted.slice(1, -1).replace(/\\./g, '')).not.toContain('"')
        expect(quoted.replaceAll('%%', '')).not.toContain('%')
        expect(readAsSystemd(quoted)).toBe(word)
      }),
    )
  })

  it('PACK-3 is written for one user, drains at a stop, and takes nothing away that sandboxes are made of', () => {
    const unit = systemdUnit(definition)
    expect(unit).toContain(`# ${marker}`)
    expect(unit).toMatch(/^WantedBy=default\.target$/m)
    expect(unit).toMatch(/^KillMode=mixed$/m)
    expect(unit).toMatch(/^TimeoutStopSec=60$/m)
    expect(unit).not.toMatch(/RestrictNamespaces|Private|Protect|SystemCallFilter|User=/)
  })

  it.skipIf(!hasSystemd)('PACK-3 is what systemd-analyze accepts, with paths of any kind', () => {
    const folder = mkdtempSync(join(tmpdir(), 'familiar-unit-'))
    try {
      const file = join(folder, 'familiar.service')
      writeFileSync(file, systemdUnit(definition))
      const said = execFileSync('systemd-analyze', ['verify', '--user', '--man=no', file], {
        encoding: 'utf8',
        env: { PATH: process.env.PATH, HOME: folder, XDG_RUNTIME_DIR: folder },
        stdio: 'pipe',
      })
      expect(said).toBe('')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
