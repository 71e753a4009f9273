import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { openTestDatabase } from '../../test/support/open-test-database.ts'
import { createIds } from '../base/ids.ts'
import type { Database } from '../storage/database.ts'
import {
  createOneTimeLinks,
  createSignedInBrowsers,
  type OneTimeLinks,
  type SignedIn,
  type SignedInBrowsers,
} from './sign-in.ts'
import { createAccessTokens } from './tokens.ts'

let directory: string
let database: Database
let links: OneTimeLinks
let browsers: SignedInBrowsers
let userId: string
let clock: ReturnType<typeof createManualClock>

beforeEach(async () => {
  clock = createManualClock()
  directory = mkdtempSync(join(tmpdir(), 'familiar-browsers-'))
  database = await openTestDatabase({ directory: directory, clock })
  const ids = createIds(clock)
  userId = (await createAccessTokens({ database, clock, ids }).ensureOwner('Ada')).id
  links = createOneTimeLinks({ database, clock, ids })
  browsers = createSignedInBrowsers({ database, links, clock, ids })
})
afterEach(async () => {
  await database.close()
  rmSync(directory, { recursive: true, force: true })
})

const code = async () => (await links.make({ userId, purpose: 'sign_in', subject: '', minutes: 10 })).token

async function signIn(): Promise<SignedIn> {
  const signedIn = await browsers.signIn(await code(), 'Some browser')
  if (!signedIn) throw new Error('The link was not taken')
  return signedIn
}

const days = (count: number) => count * 24 * 3_600_000

describe('signed-in browsers', () => {
  it('PAGE-1 a link signs one browser in, once, until it expires', async () => {
    const link = await code()
    const taken = await Promise.all(Array.from({ length: 5 }, () => browsers.signIn(link, 'Some browser')))
    expect(taken.filter(Boolean)).toHaveLength(1)
    const late = await code()
    await clock.advance(10 * 60_000)
    expect(await browsers.signIn(late, 'Some browser')).toBeUndefined()
  })

  it('PAGE-1 rejects a link that was made for another purpose', async () => {
    const { token } = await links.make({ userId, purpose: 'secret', subject: 'question', minutes: 10 })
    expect(await browsers.signIn(token, 'Some browser')).toBeUndefined()
  })

  it('PAGE-1 needs both the cookie and the page key of the same browser', async () => {
    const [one, other] = [await signIn(), await signIn()]
    expect(await browsers.verify(one)).toMatchObject({ userId, isOwner: true })
    expect(await browsers.verify({ cookie: one.cookie, pageKey: other.pageKey })).toBeUndefined()
    expect(await browsers.verify({ cookie: one.cookie, pageKey: '' })).toBeUndefined()
    expect(await browsers.verify({ cookie: '', pageKey: one.pageKey })).toBeUndefined()
    expect(await browsers.verify({ cookie: one.pageKey, pageKey: one.cookie })).toBeUndefined()
  })

  it('PAGE-1 stores neither of them', async () => {
    const { cookie, pageKey } = await signIn()
    const stored = JSON.stringify(await database.read.selectFrom('browsers').selectAll().execute())
    expect(stored).not.toContain(cookie)
    expect(stored).not.toContain(pageKey)
  })

  it('PAGE-1 expires 30 days after its last use', async () => {
    const signedIn = await signIn()
    await clock.advance(days(29))
    expect(await browsers.verify(signedIn)).toBeDefined()
    await clock.advance(days(29))
    expect(await browsers.verify(signedIn)).toBeDefined()
    await clock.advance(days(31))
    expect(await browsers.verify(signedIn)).toBeUndefined()
  })

  it('PAGE-1 signing out ends one or all immediately', async () => {
    const [one, other, third] = [await signIn(), await signIn(), await signIn()]
    expect(await browsers.signOut('somebody else', one.browserId)).toBe(0)
    expect(await browsers.signOut(userId, one.browserId)).toBe(1)
    expect(await browsers.verify(one)).toBeUndefined()
    expect((await browsers.list(userId)).map(({ id }) => id).sort()).toEqual([other.browserId, third.browserId].sort())
    expect(await browsers.signOut(userId)).toBe(2)
    expect(await browsers.verify(other)).toBeUndefined()
  })
})
