import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { makeKeyFile } from '../../src/security/vault.ts'
import { openVaultIn, temporaryHome } from './vault-support.ts'

const key = (name = 'api_key') => ({ userId: 'anna', owner: 'tool:weather', name })
const value = 'sk-canary-0123456789'

describe('the vault', () => {
  it('SEC-13 returns a stored secret, only to its owner', async () => {
    using home = temporaryHome()
    await using opened = await openVaultIn(home.path)
    const { vault } = opened
    expect(await vault.get(key())).toBeUndefined()
    expect(await vault.set(key(), value)).toEqual({ isRedacted: true })
    await vault.set({ ...key(), userId: 'ben' }, 'another one, of Ben')
    expect(await vault.get(key())).toBe(value)
    expect(await vault.get({ ...key(), owner: 'tool:other' })).toBeUndefined()
    await vault.set(key(), `${value}-new`)
    expect(await vault.get(key())).toBe(`${value}-new`)
    expect(await vault.names('anna')).toEqual([
      { owner: 'tool:weather', name: 'api_key', updatedAt: expect.any(Number) },
    ])
    expect(await vault.names('anna', 'tool:other')).toEqual([])
    expect(await vault.delete(key())).toBe(true)
    expect(await vault.delete(key())).toBe(false)
    expect(await vault.get({ ...key(), userId: 'ben' })).toBe('another one, of Ben')
  })

  it('SEC-13 refuses invalid secrets, and warns if one cannot be removed from text', async () => {
    using home = temporaryHome()
    await using opened = await openVaultIn(home.path)
    await expect(opened.vault.set(key(), '')).rejects.toMatchObject({ code: 'bad_request' })
    await expect(opened.vault.set(key(), 'x'.repeat(70_000))).rejects.toMatchObject({ code: 'bad_request' })
    expect(await opened.vault.set(key(), '1234')).toEqual({ isRedacted: false })
    expect(await opened.vault.get(key())).toBe('1234')
  })

  it('SEC-13 leaves no trace of a value in the files of the database, and seals the same value differently each time', async () => {
    using home = temporaryHome()
    await using opened = await openVaultIn(home.path)
    const sealed = new Set<string>()
    for (let round = 0; round < 20; round += 1) {
      await opened.vault.set(key(), value)
      const row = await opened.database.read.selectFrom('secrets').selectAll().executeTakeFirstOrThrow()
      sealed.add(row.sealed.slice(0, 16))
    }
    expect(sealed.size).toBe(20)
    for (const file of ['familiar.db', 'familiar.db-wal']) {
      expect(readFileSync(join(home.path, file)).includes(value)).toBe(false)
    }
  })

  it('SEC-13 keeps the key apart, for its owner alone', async () => {
    using home = temporaryHome()
    await using opened = await openVaultIn(home.path)
    expect(existsSync(opened.keyFile)).toBe(false)
    await opened.vault.set(key(), value)
    expect(statSync(opened.keyFile).mode & 0o777).toBe(0o600)
    expect(readFileSync(opened.keyFile, 'utf8')).toMatch(/^[0-9a-f]{64}\n$/)
    expect(opened.redact(readFileSync(opened.keyFile, 'utf8'))).toBe('[redacted]\n')
  })

  it.each([
    ['another name', { name: 'other_key' }],
    ['another tool', { owner: 'tool:other' }],
    ['another user', { user_id: 'ben' }],
  ])('SEC-13 does not open a row that was moved to %s', async (_what, moved) => {
    using home = temporaryHome()
    await using opened = await openVaultIn(home.path)
    await opened.vault.set(key(), value)
    await opened.database.write((writer) => writer.updateTable('secrets').set(moved).execute())
    const row = await opened.database.read.selectFrom('secrets').selectAll().executeTakeFirstOrThrow()
    await expect(opened.vault.get({ userId: row.user_id, owner: row.owner, name: row.name })).rejects.toThrow(
      /cannot be read: it is damaged.*set the secret again/,
    )
  })

  it('SEC-13 gives the redactor every value at the start, of all users', async () => {
    using home = temporaryHome()
    await using first = await openVaultIn(home.path)
    await first.vault.set(key(), value)
    await first.vault.set({ ...key(), userId: 'ben' }, 'the-secret-of-ben')
    await first.database.close()
    await using second = await openVaultIn(home.path)
    expect(second.redact(value)).toBe(value)
    expect(await second.vault.teachRedactor()).toEqual({ ok: true, count: 2, unreadable: [] })
    expect(second.redact(`${value} the-secret-of-ben`)).toBe('[redacted] [redacted]')
  })

  it('SEC-16 derives a key of its own for each purpose, the same at every start', async () => {
    using home = temporaryHome()
    await using first = await openVaultIn(home.path)
    const approvals = await first.vault.deriveKey('approvals')
    expect(approvals).toHaveLength(32)
    expect(await first.vault.deriveKey('other')).not.toEqual(approvals)
    expect(await first.vault.deriveKey('seal')).not.toEqual(approvals)
    await first.database.close()
    await using second = await openVaultIn(home.path)
    expect(await second.vault.deriveKey('approvals')).toEqual(approvals)
  })
})

describe('the key file', () => {
  async function withKeyFile(change: (keyFile: string) => void): Promise<string> {
    using home = temporaryHome()
    await using first = await openVaultIn(home.path)
    await first.vault.set(key(), value)
    await first.database.close()
    change(first.keyFile)
    await using second = await openVaultIn(home.path)
    const state = await second.vault.teachRedactor()
    if (state.ok) throw new Error('It was taken')
    await expect(second.vault.get(key())).rejects.toThrow(state.message)
    await expect(second.vault.set(key('other'), value)).rejects.toThrow(state.message)
    await expect(second.vault.deriveKey('approvals')).rejects.toThrow(state.message)
    return state.message
  }

  it('SEC-13 is refused where others can read it', async () => {
    for (const mode of [0o644, 0o640, 0o604]) {
      expect(await withKeyFile((path) => chmodSync(path, mode))).toMatch(/Other users .*chmod 600 .* rotate-key/)
    }
  })

  it('SEC-13 is refused if it is a symlink', async () => {
    const message = await withKeyFile((path) => {
      renameSync(path, `${path}-elsewhere`)
      symlinkSync(`${path}-elsewhere`, path)
    })
    expect(message).toMatch(/is a symlink/)
  })

  it.each([
    ['nothing', ''],
    ['other letters', 'x'.repeat(64)],
    ['a digit too few', '0'.repeat(63)],
    ['a digit too many', '0'.repeat(65)],
    ['another file', '0'.repeat(10_000)],
  ])('SEC-13 is refused if it contains %s', async (_what, text) => {
    expect(await withKeyFile((path) => writeFileSync(path, text))).toMatch(
      /contains no valid key .* Restore the previous file/,
    )
  })

  it('SEC-13 no new key is made while something is sealed with the lost one', async () => {
    const message = await withKeyFile((path) => rmSync(path))
    expect(message).toMatch(/is missing, and the secret that was encrypted with it cannot be read .* --discard-lost/)
  })

  it('SEC-13 of another home opens nothing, and nothing of it is lost once the right one is back', async () => {
    using home = temporaryHome()
    await using first = await openVaultIn(home.path)
    await first.vault.set(key(), value)
    await first.database.close()
    const right = readFileSync(first.keyFile)
    writeFileSync(first.keyFile, `${'ab'.repeat(32)}\n`)
    await using second = await openVaultIn(home.path)
    expect(await second.vault.teachRedactor()).toEqual({ ok: true, count: 0, unreadable: [key()] })
    await expect(second.vault.get(key())).rejects.toThrow(
      /was not encrypted with the key .* Restore the key file from that time/,
    )
    await expect(second.vault.rotateKey()).rejects.toThrow(/no new key was made/)
    await second.database.close()
    writeFileSync(first.keyFile, right)
    await using third = await openVaultIn(home.path)
    expect(await third.vault.get(key())).toBe(value)
  })

  it('SEC-13 is the same for two that make it at the same moment', async () => {
    using home = temporaryHome()
    await using opened = await openVaultIn(home.path)
    const keyFile = opened.keyFile
    const made = await Promise.all(Array.from({ length: 10 }, () => makeKeyFile(keyFile)))
    expect(new Set(made.map((bytes) => bytes.toString('hex'))).size).toBe(1)
    expect(readdirSync(home.path).filter((name) => name.startsWith('key'))).toEqual(['key'])
  })
})

describe('a new key', () => {
  it('SEC-13 opens everything, and the old one nothing', async () => {
    using home = temporaryHome()
    await using opened = await openVaultIn(home.path)
    const { vault, keyFile } = opened
    for (let number = 0; number < 30; number += 1) await vault.set(key(`key_${number}`), `${value}-${number}`)
    const before = { key: readFileSync(keyFile, 'utf8'), derived: await vault.deriveKey('approvals') }
    const [rotated] = await Promise.all([vault.rotateKey(), vault.set(key('meanwhile'), 'set meanwhile')])
    expect(rotated).toEqual({ sealed: 30, discarded: 0 })
    expect(readFileSync(keyFile, 'utf8')).not.toBe(before.key)
    expect(await vault.deriveKey('approvals')).not.toEqual(before.derived)
    expect(await vault.get(key('meanwhile'))).toBe('set meanwhile')
    await opened.database.close()
    await using again = await openVaultIn(home.path)
    expect(await again.vault.teachRedactor()).toMatchObject({ ok: true, count: 31, unreadable: [] })
    for (let number = 0; number < 30; number += 1) {
      expect(await again.vault.get(key(`key_${number}`))).toBe(`${value}-${number}`)
    }
  })

  it.each(['key_written', 'sealed_anew', 'committed', 'key_replaced'])(
    'SEC-13 loses nothing if the machine stops at %s',
    async (step) => {
      using home = temporaryHome()
      await using first = await openVaultIn(home.path)
      for (let number = 0; number < 10; number += 1) await first.vault.set(key(`key_${number}`), `${value}-${number}`)
      await first.database.close()
      const child = join(import.meta.dirname, 'rotate-key-child.ts')
      const { signal, stderr } = spawnSync(process.execPath, [child, home.path, step], { encoding: 'utf8' })
      expect({ signal, stderr }).toEqual({ signal: 'SIGKILL', stderr: '' })
      await using second = await openVaultIn(home.path)
      expect(await second.vault.teachRedactor()).toMatchObject({ ok: true, count: 10, unreadable: [] })
      for (let number = 0; number < 10; number += 1) {
        expect(await second.vault.get(key(`key_${number}`))).toBe(`${value}-${number}`)
      }
      // And it continues to work.
      await second.vault.set(key('after'), 'set after the stop')
      expect(await second.vault.rotateKey()).toEqual({ sealed: 11, discarded: 0 })
      expect(await second.vault.get(key('after'))).toBe('set after the stop')
      expect(existsSync(`${second.keyFile}.next`)).toBe(false)
    },
  )

  it('SEC-13 replaces a lost one only if the user says so, and removes the secrets that it encrypted', async () => {
    using home = temporaryHome()
    await using first = await openVaultIn(home.path)
    await first.vault.set(key(), value)
    await first.database.close()
    rmSync(first.keyFile)
    await using second = await openVaultIn(home.path)
    await expect(second.vault.rotateKey()).rejects.toThrow(/is missing/)
    expect(await second.vault.rotateKey({ discardLost: true })).toEqual({ sealed: 0, discarded: 1 })
    expect(await second.vault.get(key())).toBeUndefined()
    await second.vault.set(key(), value)
    expect(await second.vault.get(key())).toBe(value)
  })
})
