import { describe, expect, it } from 'vitest'
import { hasBubblewrap } from '../../../test/support/embedded-sandbox.ts'
import { checkMachine } from './machine.ts'
import { namespaceFix } from './namespace-fix.ts'

describe('a machine', () => {
  it.each(['darwin', 'win32'])('SEC-12 with %s has no embedded sandbox, and says so', async (platform) => {
    const checked = await checkMachine({ platform })
    expect(checked).toEqual({ ok: false, reason: expect.stringContaining(platform), fix: null })
  })

  it('SEC-12 of another kind has no filter, and therefore no sandbox', async () => {
    const checked = await checkMachine({ platform: 'linux', arch: 'riscv64' })
    expect(checked).toMatchObject({ ok: false, reason: expect.stringContaining('riscv64') })
  })

  it('SEC-12 without bubblewrap is told the command that installs it', async () => {
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
    ['no version at all', 'does not say its version'],
  ])('SEC-12 whose bubblewrap says "%s" is refused', async (said, reason) => {
    const options = { platform: 'linux', arch: 'x64', find: () => '/bin/bwrap', readVersion: async () => said }
    expect(await checkMachine(options)).toMatchObject({ ok: false, reason: expect.stringContaining(reason) })
  })

  it.each(['bubblewrap 0.7.0', 'bubblewrap 0.11.1', 'bubblewrap 1.0'])('SEC-12 with %s is taken', async (said) => {
    const options = { platform: 'linux', arch: 'arm64', find: () => '/bin/bwrap', readVersion: async () => said }
    expect(await checkMachine(options)).toEqual({
      ok: true,
      machine: { bubblewrap: '/bin/bwrap', architecture: 'arm64' },
    })
  })

  it.skipIf(!hasBubblewrap)('SEC-12 like this one is taken', async () => {
    expect(await checkMachine()).toMatchObject({ ok: true, machine: { bubblewrap: '/usr/bin/bwrap' } })
  })

  it('SEC-12 that keeps its users from namespaces is told the setting', () => {
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
