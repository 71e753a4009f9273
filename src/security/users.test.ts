import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestDatabase } from '../../test/support/open-test-database.ts'
import { systemClock } from '../base/clock.ts'
import { createIds } from '../base/ids.ts'
import type { Database } from '../storage/database.ts'
import { type AccessTokens, createAccessTokens } from './tokens.ts'
import { allowsTool, createUsers, type Plan, type Users, withBuiltInPlans } from './users.ts'

const clock = systemClock()
const jigga: Plan = {
  name: 'jigga',
  tools: { allow: ['*'], deny: ['exec'] },
  routes: {},
  budget: { perDayUsd: 1 },
  maxSessions: 3,
  mode: null,
}

let directory: string
let database: Database
let tokens: AccessTokens
let users: Users
let ownerId: string
let plans: Record<string, Plan>
let secrets: string[]

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'familiar-users-'))
  database = await openTestDatabase({ directory: directory, clock })
  const ids = createIds(clock)
  tokens = createAccessTokens({ database, clock, ids })
  ownerId = (await tokens.ensureOwner('owner')).id
  plans = { jigga }
  secrets = []
  users = createUsers({
    database,
    tokens,
    clock,
    ids,
    plans: () => withBuiltInPlans(plans),
    addSecret: (secret) => void secrets.push(secret),
  })
  await users.refresh()
})
afterEach(async () => {
  await database.close()
  rmSync(directory, { recursive: true, force: true })
})

describe('users', () => {
  it('USERS-1 are added with a token that may only chat unless stated otherwise', async () => {
    const ada = await users.add({ name: 'Ada', tier: 'jigga' })
    expect(await tokens.verify(ada.made.token)).toMatchObject({ userId: ada.user.id, scope: 'chat' })
    const reader = await users.add({ name: 'Züleyha', scope: 'read' })
    expect(await tokens.verify(reader.made.token)).toMatchObject({ userId: reader.user.id, scope: 'read' })
    expect(users.list().map(({ name, role, tier }) => [name, role, tier])).toEqual([
      ['owner', 'owner', 'owner'],
      ['Ada', 'user', 'jigga'],
      ['Züleyha', 'user', 'guest'],
    ])
    await users.refresh()
    expect(users.named('ADA').id).toBe(ada.user.id)
  })

  it('USERS-1 have unique names, regardless of case and Unicode form', async () => {
    await users.add({ name: 'Ada' })
    for (const name of ['ada', 'ADA', 'A\uFF44a', 'owner']) {
      await expect(users.add({ name }), name).rejects.toMatchObject({ code: 'conflict' })
    }
    for (const name of ['', ' ', '../x', 'a b', 'a/b', '-a', 'x'.repeat(33), 'a\u0000', '\u202eada']) {
      await expect(users.add({ name }), name).rejects.toMatchObject({ code: 'bad_request' })
    }
    const twice = await Promise.allSettled([users.add({ name: 'Ben' }), users.add({ name: 'ben' })])
    expect(twice.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  })

  it('USERS-1 get a new token in place of all earlier ones', async () => {
    const { user, made } = await users.add({ name: 'Ada', scope: 'read' })
    const second = await tokens.createToken(user.id, 'read')
    const fresh = await users.rotate('ada')
    expect(await tokens.verify(made.token)).toBeUndefined()
    expect(await tokens.verify(second.token)).toBeUndefined()
    expect(await tokens.verify(fresh.token)).toMatchObject({ userId: user.id, scope: 'read' })
    await expect(users.rotate('owner')).rejects.toMatchObject({ code: 'bad_request' })
    await expect(users.rotate('nobody')).rejects.toMatchObject({ code: 'not_found' })
    expect(secrets).toEqual([made.token, fresh.token])
    await users.shutOut(user.id)
    expect(await tokens.verify(fresh.token)).toBeUndefined()
  })
})

describe('the plan of a user', () => {
  it('CLIENT-4 comes from the record, and changes immediately with the record and the config', async () => {
    const { user } = await users.add({ name: 'Ada', tier: 'jigga' })
    const has = (tool: string) => allowsTool(users.planOf(user.id), tool)
    expect([has('ask_user'), has('exec')]).toEqual([true, false])
    plans = { jigga: { ...jigga, tools: { allow: ['exec'], deny: [] } } }
    expect([has('ask_user'), has('exec')]).toEqual([false, true])
    await users.setPlan('Ada', 'guest')
    expect([has('ask_user'), has('exec')]).toEqual([false, false])
    expect(users.planOf(ownerId)).toMatchObject({ name: 'owner', tools: { allow: ['*'] } })
  })

  it('CLIENT-4 allows nothing if the config no longer defines it, or for unknown and removed users', async () => {
    const { user } = await users.add({ name: 'Ada', tier: 'jigga' })
    plans = {}
    const closed = { tools: { deny: ['*'] }, budget: { perDayUsd: 0 }, maxSessions: 0 }
    expect(users.hasPlan('jigga')).toBe(false)
    for (const id of [user.id, 'nobody', '__proto__', 'constructor']) {
      expect(users.planOf(id), id).toMatchObject(closed)
    }
    plans = { jigga }
    users.forget(user.id)
    expect(users.planOf(user.id)).toMatchObject(closed)
  })

  it('CLIENT-4 is never the owner’s for other users, nor one that does not exist', async () => {
    await users.add({ name: 'Ada' })
    for (const tier of ['owner', 'gold', '', '__proto__', 'constructor']) {
      await expect(users.setPlan('Ada', tier), tier).rejects.toMatchObject({ code: 'bad_request' })
      await expect(users.add({ name: 'Ben', tier }), tier).rejects.toMatchObject({ code: 'bad_request' })
    }
    await expect(users.setPlan('owner', 'guest')).rejects.toMatchObject({ code: 'bad_request' })
    expect(users.planOf(ownerId).name).toBe('owner')
    expect(users.list().map(({ name }) => name)).toEqual(['owner', 'Ada'])
  })
})
