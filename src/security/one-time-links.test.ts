import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { anyText } from '../../test/support/any-text.ts'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { openTestDatabase } from '../../test/support/open-test-database.ts'
import { createIds } from '../base/ids.ts'
import type { Database } from '../storage/database.ts'
import { createOneTimeLinks, type OneTimeLinks } from './sign-in.ts'
import { createAccessTokens, tokenBits } from './tokens.ts'

let directory: string
let database: Database
let links: OneTimeLinks
let userId: string
let clock: ReturnType<typeof createManualClock>

beforeEach(async () => {
  clock = createManualClock()
  directory = mkdtempSync(join(tmpdir(), 'familiar-links-'))
  database = await openTestDatabase({ directory: directory, clock })
  const ids = createIds(clock)
  userId = (await createAccessTokens({ database, clock, ids }).ensureOwner('Ada')).id
  links = createOneTimeLinks({ database, clock, ids })
})
afterEach(async () => {
  await database.close()
  rmSync(directory, { recursive: true, force: true })
})

const make = (minutes = 15) => links.make({ userId, purpose: 'secret', subject: 'question-1', minutes })
const use = (token: string) => database.write((writer) => links.use(writer, token, 'secret'))
const rows = () => database.read.selectFrom('one_time_links').selectAll().execute()

describe('one-time links', () => {
  it('SEC-13 a link has 256 bits and only its hash is stored', async () => {
    const { token } = await make()
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(tokenBits(token)).toBeGreaterThanOrEqual(256)
    expect(JSON.stringify(await rows())).not.toContain(token)
    expect(await links.peek(token, 'secret')).toMatchObject({ userId, subject: 'question-1' })
  })

  it('SEC-13 a link is used once, even by ten requests at the same time', async () => {
    const { token } = await make()
    const used = await Promise.all(Array.from({ length: 10 }, () => use(token)))
    expect(used.filter(Boolean)).toMatchObject([{ userId, purpose: 'secret' }])
    expect(await links.peek(token, 'secret')).toBeUndefined()
    expect(await use(token)).toBeUndefined()
  })

  it('SEC-13 a link whose purpose failed stays valid until it expires', async () => {
    const { token } = await make()
    const link = await use(token)
    if (!link) throw new Error('The link does not hold')
    await database.write((writer) => links.giveBack(writer, link))
    expect(await use(token)).toEqual(link)
    await database.write((writer) => links.giveBack(writer, link))
    await clock.advance(15 * 60_000)
    expect(await use(token)).toBeUndefined()
  })

  it('SEC-13 a link works for its purpose only, and reading it changes nothing', async () => {
    const { token } = await make()
    const before = await rows()
    expect(await links.peek(token, 'sign_in')).toBeUndefined()
    expect(await database.write((writer) => links.use(writer, token, 'sign_in'))).toBeUndefined()
    await links.peek(token, 'secret')
    expect(await rows()).toEqual(before)
  })

  it('SEC-13 links expire and are then deleted', async () => {
    const { token } = await make(15)
    await clock.advance(15 * 60_000 - 1)
    expect(await links.peek(token, 'secret')).toBeDefined()
    await clock.advance(1)
    expect(await links.peek(token, 'secret')).toBeUndefined()
    expect(await use(token)).toBeUndefined()
    expect(await database.write(links.purge)).toBe(1)
    await make(1)
    await clock.advance(60_000)
    await make()
    expect(await rows()).toHaveLength(1)
  })

  it('SEC-13 arbitrary text is never a valid link', async () => {
    const { token } = await make()
    const almost = fc
      .nat({ max: 42 })
      .map((at) => `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`)
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(anyText, almost, fc.constant(`${token}\n`), fc.constant(token.slice(1))),
        async (text) => {
          expect(await links.peek(text, 'secret')).toBeUndefined()
        },
      ),
      { numRuns: 60 },
    )
  })
})
