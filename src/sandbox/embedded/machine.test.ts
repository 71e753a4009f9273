import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hasBubblewrap, isRoot } from '../../../test/support/embedded-sandbox.ts'
import { checkMachine, namespaceFix } from './embedded-driver.ts'

describe('a machine', () => {
  it.each(['darwin', 'win32'])('SEC-12 with %s has no embedded sandbox, and says so', async (platform) => {
    const checked = await checkMachine({ platform })
    expect(checked).toEqual({ ok: false, reason: expect.stringContaining(platform), fix: null })
  })

  it('SEC-12 of another architecture has no filter, and therefore no sandbox', async () => {
    const checked = await checkMachine({ platform: 'linux', arch: 'riscv64' })
    expect(checked).toMatchObject({ ok: false, reason: expect.stringContaining('riscv64') })
  })

  it('SEC-12 without bubblewrap is given the command that installs it', async () => {
    const find = (name: string) => (name === 'apt-get' ? '/usr/bin/apt-get' : undefined)
    const checked = await checkMachine({ platform: 'linux', arch: 'x64', find })
    const fix = 'sudo apt-get install bubblewrap'
    expect(checked).toEqual({ ok: false, reason: 'bubblewrap is not installed', fix })
    const fedora = await checkMachine({
      platform: 'linux',
      arch: 'x64',
      find: (name) => (name === 'dnf' ? name : undefined),
    })
    expect(fedora).toMatchObject({ fix: 'sudo dnf install bubblewrap' })
  })

  it.each([
    ['bubblewrap 0.6.2', '0.6.2 is too old'],
    ['no version at all', 'does not report its version'],
  ])('SEC-12 whose bubblewrap reports "%s" is rejected', async (said, reason) => {
    const options = { platform: 'linux', arch: 'x64', find: () => '/bin/bwrap', readVersion: async () => said }
    expect(await checkMachine(options)).toMatchObject({ ok: false, reason: expect.stringContaining(reason) })
  })

  it.each(['bubblewrap 0.7.0', 'bubblewrap 0.11.1', 'bubblewrap 1.0'])('SEC-12 with %s is accepted', async (said) => {
    const options = { platform: 'linux', arch: 'arm64', find: () => '/bin/bwrap', readVersion: async () => said }
    expect(await checkMachine(options)).toEqual({
      ok: true,
      machine: { bubblewrap: '/bin/bwrap', architecture: 'arm64' },
    })
  })

  it('SEC-12 without it uses the one that the launcher fetched, unless another user could have changed it', async () => {
    const fetched = mkdtempSync(join(tmpdir(), 'familiar-fetched-'))
    const bubblewrap = join(fetched, 'bwrap')
    try {
      const check = () =>
        checkMachine({
          platform: 'linux',
          arch: 'x64',
          find: () => undefined,
          readVersion: async () => 'bubblewrap 0.8.0',
          fetched,
        })
      expect(await check()).toMatchObject({ ok: false, reason: 'bubblewrap is not installed' })
      writeFileSync(bubblewrap, '', { mode: 0o755 })
      expect(await check()).toMatchObject({ ok: true, machine: { bubblewrap, libraries: undefined } })
      mkdirSync(join(fetched, 'lib'), { mode: 0o755 })
      writeFileSync(join(fetched, 'lib', 'libcap.so.2'), '', { mode: 0o644 })
      expect(await check()).toMatchObject({ ok: true, machine: { libraries: join(fetched, 'lib') } })
      for (const [path, loose, tight] of [
        [bubblewrap, 0o775, 0o755],
        [fetched, 0o757, 0o755],
        [join(fetched, 'lib', 'libcap.so.2'), 0o666, 0o644],
      ] as const) {
        chmodSync(path, loose)
        expect(await check()).toMatchObject({ ok: false, reason: expect.stringContaining(`${path} could have been`) })
        chmodSync(path, tight)
      }
      if (isRoot) {
        chownSync(bubblewrap, 64_555, 64_555)
        expect(await check()).toMatchObject({ ok: false, reason: expect.stringContaining('another user') })
      }
    } finally {
      rmSync(fetched, { recursive: true, force: true })
    }
  })

  it.skipIf(!hasBubblewrap)('SEC-12 like this one is accepted', async () => {
    expect(await checkMachine()).toMatchObject({ ok: true, machine: { bubblewrap: '/usr/bin/bwrap' } })
  })

  it('SEC-12 that forbids user namespaces is given the setting', () => {
    const with_ = (name: string, value: string) => (asked: string) => (asked === name ? value : undefined)
    expect(namespaceFix(() => undefined)).toBeNull()
    expect(namespaceFix(with_('kernel.unprivileged_userns_clone', '0'))).toBe(
      'sudo sysctl -w kernel.unprivileged_userns_clone=1',
    )
    expect(namespaceFix(with_('kernel.apparmor_restrict_unprivileged_userns', '1'))).toBe(
      'sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
    )
    expect(namespaceFix(with_('user.max_user_namespaces', '15000'))).toBeNull()
  })
})
