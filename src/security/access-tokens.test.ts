import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestDatabase } from '../../test/support/open-test-database.ts'
import { systemClock } from '../base/clock.ts'
import { createIds } from '../base/ids.ts'
import type { Database } from '../storage/database.ts'
import { type AccessTokens, createAccessTokens, tokenBits } from './tokens.ts'

let directory: string
let database: Database
let tokens: AccessTokens
const clock = systemClock()

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'familiar-tokens-'))
  database = await openTestDatabase({ directory: directory, clock })
  tokens = createAccessTokens({ database, clock, ids: createIds(clock) })
})
afterEach(async () => {
  await database.close()
  rmSync(directory, { recursive: true, force: true })
})

describe('access tokens', () => {
  it('HTTP-2 creates one owner, once', async () => {
    const [first, second] = await Promise.all([tokens.ensureOwner('Ada'), tokens.ensureOwner('Bob')])
    expect(first).toEqual(second)
    expect(await tokens.ensureOwner('Eve')).toMatchObject({ id: first.id, name: 'Ada', role: 'owner' })
  })

  it('SEC-3 creates tokens of 256 bits that are shown once and stored as a hash', async () => {
    const owner = await tokens.ensureOwner('Ada')
    const { token, tokenId } = await tokens.createToken(owner.id, 'owner')
    expect(token).toMatch(/^fam_[A-Za-z0-9_-]{43}$/)
    expect(tokenBits(token)).toBeGreaterThanOrEqual(256)
    expect((await tokens.createToken(owner.id, 'owner')).token).not.toBe(token)
    const rows = await database.read.selectFrom('access_tokens').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain(token.slice(4))
    expect(await tokens.verify(token)).toEqual({ userId: owner.id, isOwner: true, scope: 'owner', tokenId })
  })

  it('SEC-3 accepts only the exact token', async () => {
    const owner = await tokens.ensureOwner('Ada')
    const { token } = await tokens.createToken(owner.id, 'read')
    const wrong = [
      '',
      ' ',
      token.slice(0, -1),
      `${token} `,
      token.toUpperCase(),
      token.slice(4),
      `${token}\u0000`,
      'x'.repeat(1e6),
    ]
    const [row] = await database.read.selectFrom('access_tokens').selectAll().execute()
    for (const guess of [...wrong, row?.token_hash ?? '', row?.id ?? '', '%', "' OR 1=1 --"])
      expect(await tokens.verify(guess)).toBeUndefined()
  })

  it('SEC-3 rotation and revocation take effect on the next request', async () => {
    const owner = await tokens.ensureOwner('Ada')
    const old = await tokens.createToken(owner.id, 'chat')
    const fresh = await tokens.rotate(old.tokenId)
    expect(await tokens.verify(old.token)).toBeUndefined()
    expect(await tokens.verify(fresh?.token ?? '')).toMatchObject({ userId: owner.id, scope: 'chat' })
    expect(await tokens.rotate(old.tokenId)).toBeUndefined()
    expect(await tokens.list(owner.id)).toEqual([
      { tokenId: fresh?.tokenId, scope: 'chat', createdAt: expect.any(Number) },
    ])
    expect(await tokens.revoke(fresh?.tokenId ?? '')).toBe(true)
    expect(await tokens.revoke(fresh?.tokenId ?? '')).toBe(false)
    expect(await tokens.verify(fresh?.token ?? '')).toBeUndefined()
    expect(await tokens.list(owner.id)).toEqual([])
  })

  it('HTTP-2 takes the owner’s token from FAMILIAR_TOKEN, and only its current value', async () => {
    const owner = await tokens.ensureOwner('Ada')
    const made = await tokens.createToken(owner.id, 'owner')
    await tokens.setEnvironmentToken(owner.id, 'first')
    await tokens.setEnvironmentToken(owner.id, 'first')
    expect(await tokens.verify('first')).toMatchObject({ userId: owner.id, scope: 'owner' })
    await tokens.setEnvironmentToken(owner.id, 'second')
    expect(await tokens.verify('first')).toBeUndefined()
    expect(await tokens.verify('second')).toMatchObject({ scope: 'owner' })
    await tokens.setEnvironmentToken(owner.id, 'first')
    expect(await tokens.verify('first')).toMatchObject({ scope: 'owner' })
    await tokens.setEnvironmentToken(owner.id, null)
    expect(await tokens.verify('first')).toBeUndefined()
    expect(await tokens.verify(made.token)).toMatchObject({ tokenId: made.tokenId })
    const rows = await database.read.selectFrom('access_tokens').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain('second')
  })
})
