import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { cleanUp, familiar } from './cli-process.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'familiar service '))
})
afterEach(async () => {
  await cleanUp()
  rmSync(home, { recursive: true, force: true })
})

const unit = () => join(home, '.config', 'systemd', 'user', 'familiar.service')
// No manager of this user's services answers in a test.
const service = (...words: string[]) => familiar(['service', ...words], { home, env: { XDG_RUNTIME_DIR: '' } })

describe.skipIf(process.platform !== 'linux')('familiar service', () => {
  it('PACK-3 shows the file, writes it readable, and says how to start it', async () => {
    const shown = await service('install', '--dry-run', '--json')
    const { text, path } = JSON.parse(shown.stdout)
    expect(path).toBe(unit())
    expect(text).toContain(`"serve" "--home" "${home}"`)
    expect(existsSync(unit())).toBe(false)
    const installed = await service('install')
    // There is no service manager here, so it was written and not started.
    expect(installed.code).toBe(1)
    expect(installed.stdout).toContain(`Written: ${unit()}`)
    expect(installed.stdout).toContain('systemctl --user enable --now familiar.service')
    expect(readFileSync(unit(), 'utf8')).toBe(text)
    expect(statSync(unit()).mode & 0o777).toBe(0o644)
    const status = await service('status', '--json')
    expect(status.code).toBe(1)
    expect(JSON.parse(status.stdout)).toMatchObject({ file: 'ours', active: null, daemon: null })
    expect((await service('uninstall')).stdout).toContain(`Removed: ${unit()}`)
    expect(existsSync(unit())).toBe(false)
  })

  it('PACK-3 does not touch a file that it did not write, unless asked twice', async () => {
    mkdirSync(dirname(unit()), { recursive: true })
    writeFileSync(unit(), '[Service]\nExecStart=/bin/true\n')
    for (const word of ['install', 'uninstall']) {
      const refused = await service(word)
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('was not written by Familiar') })
    }
    expect(readFileSync(unit(), 'utf8')).toContain('/bin/true')
    expect((await service('install', '--force')).stdout).toContain('Written: ')
    expect(readFileSync(unit(), 'utf8')).toContain('familiar service install')
  })
})
