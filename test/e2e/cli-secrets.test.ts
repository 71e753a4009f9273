import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { openVaultIn } from '../security/vault-support.ts'
import { cleanUp, familiar, familiarJson, newHome, serveFamiliar } from './cli-process.ts'

afterEach(cleanUp)

const value = 'sk-canary-0123456789'
const secret = { userId: 'anna', owner: 'tool:weather', name: 'api_key' }

async function homeWithSecret(): Promise<string> {
  const home = newHome()
  mkdirSync(home, { recursive: true, mode: 0o700 })
  await using opened = await openVaultIn(home)
  await opened.vault.set(secret, value)
  return home
}

it('SEC-13 lists stored secrets, and never shows one', async () => {
  const home = await homeWithSecret()
  const shown = await familiar(['secrets', 'list'], { home })
  expect(shown).toMatchObject({ code: 0, stderr: '' })
  expect(shown.stdout).toMatch(/^Tool +Name +Changed +User\ntool:weather +api_key +20\d\d-.* anna\n$/)
  expect(await familiarJson(['secrets', 'list'], { home })).toEqual({
    secrets: [{ owner: 'tool:weather', name: 'api_key', updated_at: expect.any(String), user: 'anna' }],
  })
  const empty = newHome()
  await familiar(['send', '-m', 'Hello'], { home: empty })
  expect((await familiar(['secrets', 'list'], { home: empty })).stdout).toContain('No secrets stored.')
})

it('SEC-13 seals them with a new key, while no daemon runs', async () => {
  const home = await homeWithSecret()
  const before = readFileSync(join(home, 'key'), 'utf8')
  expect(await familiarJson(['secrets', 'rotate-key'], { home })).toEqual({ sealed: 1, discarded: 0 })
  expect(readFileSync(join(home, 'key'), 'utf8')).not.toBe(before)
  {
    await using opened = await openVaultIn(home)
    expect(await opened.vault.get(secret)).toBe(value)
  }
  await serveFamiliar({ home })
  const refused = await familiar(['secrets', 'rotate-key'], { home })
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toMatch(/Familiar is running on .*\nStop it first: familiar stop/)
})

it('SEC-13 says what to do if the key is lost', async () => {
  const home = await homeWithSecret()
  rmSync(join(home, 'key'))
  const lost = await familiar(['secrets', 'rotate-key'], { home })
  expect(lost).toMatchObject({ code: 1, stdout: '' })
  expect(lost.stderr).toMatch(/is missing, and the secret .* familiar secrets rotate-key --discard-lost/)
  expect((await familiar(['secrets', 'rotate-key', '--discard-lost'], { home })).stdout).toMatch(
    /^0 secrets are encrypted with a new key: .*\n1 unreadable secret was deleted\.\n$/,
  )
  expect(await familiarJson(['secrets', 'list'], { home })).toEqual({ secrets: [] })
})
