import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { commandOf, textOf } from '../../../test/contract/sandbox-support.ts'
import { embeddedDrivers, hasBubblewrap, isRoot } from '../../../test/support/embedded-sandbox.ts'
import { SandboxUnavailable } from '../sandbox.ts'
import { createReadableFolders, largeBytes } from './readable-folders.ts'

const { open, closeAll } = embeddedDrivers()
const folders: string[] = []
afterEach(async () => {
  await closeAll()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** As in the home of a user without access for others. */
function privateFolder(): string {
  const home = mkdtempSync(join(tmpdir(), 'familiar-home-'))
  folders.push(home)
  const tool = join(home, 'tool')
  mkdirSync(join(tool, 'deep'), { recursive: true })
  writeFileSync(join(tool, 'handler.sh'), 'cat "$0"; cat /tool/deep/data; ls -l /tool\n', { mode: 0o700 })
  writeFileSync(join(tool, 'deep/data'), 'first\n', { mode: 0o600 })
  symlinkSync('deep/data', join(tool, 'link'))
  symlinkSync('/etc/shadow', join(tool, 'away'))
  chmodSync(tool, 0o700)
  return tool
}

describe.skipIf(!hasBubblewrap)('folders of a home (bubblewrap is needed)', () => {
  it.each(['off', 'eager'] as const)('SEC-12 are readable by the sandbox only, fork server %s', async (use) => {
    const { driver } = open({ forkServer: use })
    const tool = privateFolder()
    const mounts = [{ source: tool, target: '/tool' }]
    const run = async (argv: [string, ...string[]]) => textOf((await driver.run(commandOf(argv, { mounts }))).stdout)
    const read =
      'import os; print(open("/tool/deep/data").read(), open("/tool/link").read(), os.path.exists("/tool/away"))'
    expect(await run(['/tool/handler.sh'])).toContain('first\n')
    expect(await run(['python3', '-c', read])).toBe('first\n first\n False\n')
    expect(await run(['sh', '-c', 'echo x 2>&1 >/tool/deep/data; cat /tool/deep/data'])).toContain('first\n')
    // Visible immediately, without a notification.
    writeFileSync(join(tool, 'deep/data'), 'second\n')
    expect(await run(['python3', '-c', read])).toBe('second\n second\n False\n')
    rmSync(join(tool, 'deep/data'))
    mkdirSync(join(tool, 'new'))
    expect(await run(['sh', '-c', 'ls /tool'])).toBe('away\ndeep\nhandler.sh\nlink\nnew\n')
  })

  it('TOOL-5 missing ones are reported', async () => {
    const { driver } = open()
    const mounts = [{ source: '/no/such/folder', target: '/tool' }]
    await expect(driver.run(commandOf(['true'], { mounts }))).rejects.toBeInstanceOf(SandboxUnavailable)
  })
})

describe.skipIf(!isRoot)('copies for the account of root’s sandbox', () => {
  const account = { uid: 64_321, gid: 64_321, isOther: true }
  function stage() {
    const directory = mkdtempSync(join(tmpdir(), 'familiar-copies-'))
    folders.push(directory)
    return createReadableFolders({ directory, account })
  }

  it('SEC-12 belong to root, readable by the account’s group and closed to others', async () => {
    const { path } = await stage().hold(privateFolder())
    const modeOf = (name: string) => [
      statSync(join(path, name)).uid,
      statSync(join(path, name)).gid,
      modeBits(join(path, name)),
    ]
    expect(modeOf('')).toEqual([0, account.gid, 0o750])
    expect(modeOf('deep/data')).toEqual([0, account.gid, 0o640])
    expect(modeOf('handler.sh')).toEqual([0, account.gid, 0o750])
  })

  it('SEC-12 are made once per version, and removed when the old one is no longer used', async () => {
    const source = privateFolder()
    const copies = stage()
    const first = await copies.hold(source)
    const again = await copies.hold(source)
    expect(again.path).toBe(first.path)
    writeFileSync(join(source, 'deep/data'), 'second\n')
    const second = await copies.hold(source)
    expect(second.path).not.toBe(first.path)
    expect(readFileSync(join(first.path, 'deep/data'), 'utf8')).toBe('first\n')
    first.release()
    again.release()
    await expect.poll(() => statSync(first.path, { throwIfNoEntry: false })).toBeUndefined()
    expect(readFileSync(join(second.path, 'deep/data'), 'utf8')).toBe('second\n')
    second.release()
    expect((await copies.hold(source)).path).toBe(second.path)
  })

  it('SEC-12 are made once for a large file too, which is linked', async () => {
    const source = privateFolder()
    writeFileSync(join(source, 'large'), Buffer.alloc(largeBytes), { mode: 0o644 })
    const copies = stage()
    const first = await copies.hold(source)
    expect((await copies.hold(source)).path).toBe(first.path)
  })

  it('SEC-12 are made once for concurrent callers', async () => {
    const source = privateFolder()
    const copies = stage()
    const held = await Promise.all([1, 2, 3, 4].map(() => copies.hold(source)))
    expect(new Set(held.map(({ path }) => path)).size).toBe(1)
  })

  it('SEC-12 are not made for world-readable files, and a read-only folder is not scanned twice', async () => {
    const copies = stage()
    expect((await copies.hold('/usr/share/zoneinfo')).path).toBe('/usr/share/zoneinfo')
    const source = privateFolder()
    chmodSync(source, 0o555)
    const first = await copies.hold(source)
    // The folder is read-only; changes inside it are not noticed.
    writeFileSync(join(source, 'deep/data'), 'second\n')
    expect((await copies.hold(source)).path).toBe(first.path)
  })
})

function modeBits(path: string): number {
  return statSync(path).mode & 0o777
}
