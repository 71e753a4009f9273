import { describe, expect, it } from 'vitest'
import { openLogger } from '../../src/base/logger.ts'
import { secretOwnerOf } from '../../src/custom-tools/built-catalog.ts'
import { movedTables } from '../../src/fleet/transfer/tables.ts'
import { createManualClock } from '../support/manual-clock.ts'
import type { Answer, ServedFamiliar } from './http-support.ts'
import { type AskedLink, askBySecretLink } from './secret-link.ts'
import { serveInTests } from './serve-in-tests.ts'

const secret = 'sk-canary-9b41d7'
const formType = { 'content-type': 'application/x-www-form-urlencoded' }

const serve = serveInTests()
const look = (served: ServedFamiliar, path: string) => served.call({ path, token: null })
const give = (served: ServedFamiliar, path: string, value = secret, headers: Record<string, string> = {}) =>
  served.call({ path, token: null, body: `value=${encodeURIComponent(value)}`, headers: { ...formType, ...headers } })
const kept = (served: ServedFamiliar, { build }: AskedLink) =>
  served.capabilities.secretOf({ userId: served.familiar.userId, owner: secretOwnerOf(build.name), name: 'API_KEY' })
const titleOf = ({ text }: Answer) => /<title>([^<]*)/.exec(text)?.[1]

describe('a secret by a link of one use', () => {
  it('SEC-13 shows a form without script, keeps the secret once, and is then like a link that never was', async () => {
    const served = await serve()
    const asked = await askBySecretLink(served)
    expect(asked.minutes).toBe(15)
    const form = await look(served, asked.path)
    expect(form).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
    expect(form.text).toContain('A secret for “weather”')
    expect(form.text).toContain('The key for the weather service')
    expect(form.text).toContain('<label for="value">API_KEY</label>')
    expect(form.text).not.toMatch(/<script|<link|<img|https?:|src=|action=/)

    const done = await give(served, asked.path)
    expect({ status: done.status, title: titleOf(done) }).toEqual({ status: 200, title: 'Saved' })
    expect(await asked.isSet).toBe(true)
    expect(await kept(served, asked)).toBe(secret)

    const never = await look(served, `/secret/${'A'.repeat(43)}`)
    expect(never.status).toBe(404)
    for (const again of [await look(served, asked.path), await give(served, asked.path, 'another')]) {
      expect({ status: again.status, text: again.text }).toEqual({ status: 404, text: never.text })
    }
    expect(await kept(served, asked)).toBe(secret)
  })

  it('SEC-13 of ten who send at once, one is heard', async () => {
    const served = await serve()
    const asked = await askBySecretLink(served)
    const values = Array.from({ length: 10 }, (_, index) => `sk-value-${index}`)
    const answers = await Promise.all(values.map((value) => give(served, asked.path, value)))
    const heard = values.filter((_, index) => answers[index]?.status === 200)
    expect(heard).toEqual([await kept(served, asked)])
  })

  it('SEC-13 looking at it any number of times changes nothing', async () => {
    const served = await serve()
    const asked = await askBySecretLink(served)
    const rows = () => served.familiar.database.read.selectFrom('one_time_links').selectAll().execute()
    const before = await rows()
    for (const method of ['GET', 'HEAD', 'GET']) await served.call({ method, path: asked.path, token: null })
    expect(await rows()).toEqual(before)
    expect((await give(served, asked.path)).status).toBe(200)
  })

  it('SEC-13 the secret and the link are in no answer, row, event or line of the log', async () => {
    const lines: string[] = []
    const redact = (text: string) => text
    const writeLine = (line: string) => void lines.push(line)
    const logger = openLogger({ level: 'debug', clock: createManualClock(), redact, writeLine })
    const logged = await serve({ logger })
    const asked = await askBySecretLink(logged)
    const answers = [
      await look(logged, asked.path),
      await give(logged, asked.path, secret, { origin: 'https://attacker.example' }),
      // With a wrong access token, the path is logged.
      await logged.call({ path: asked.path, token: 'wrong' }),
      await logged.call({ path: `${asked.path}/more`, token: 'wrong' }),
      await give(logged, asked.path),
      await give(logged, asked.path),
      await logged.call({ path: '/api/v1/builds/questions' }),
      await logged.call({ path: `/api/v1/builds/${asked.build.id}/events` }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 403, 401, 401, 200, 404, 200, 200])
    for (const { text, headers } of answers) {
      expect(text + JSON.stringify(headers)).not.toContain(secret)
      expect(text + JSON.stringify(headers)).not.toContain(asked.token)
    }
    const log = lines.join('\n')
    expect(log).toContain('/secret/…')
    expect(log).not.toContain(asked.token)
    expect(log).not.toContain(secret)
    const { database } = logged.familiar
    const tables = Object.keys(movedTables)
    expect(tables).toContain('one_time_links')
    for (const table of tables) {
      const rows = await database.read
        .selectFrom(table as 'one_time_links')
        .selectAll()
        .execute()
      const text = rows.map((row) => Object.values(row).map(readable).join('\n')).join('\n')
      expect(text.includes(secret), table).toBe(false)
      expect(text.includes(asked.token), table).toBe(false)
    }
  })

  it('SEC-7 loads nothing, is in no frame, and sends its address to no one', async () => {
    const served = await serve()
    const asked = await askBySecretLink(served)
    for (const answer of [
      await look(served, asked.path),
      await give(served, asked.path),
      await look(served, asked.path),
    ]) {
      expect(answer.headers).toMatchObject({
        'content-security-policy': expect.stringMatching(
          /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'$/,
        ),
        'cache-control': 'no-store',
        'referrer-policy': 'strict-origin',
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
      })
    }
  })

  it('SEC-2 takes it from its own page alone, as a form sends it, and not more than a secret is long', async () => {
    const served = await serve()
    const asked = await askBySecretLink(served)
    const own = `http://127.0.0.1:${served.server.port}`
    for (const origin of ['https://attacker.example', 'null']) {
      expect((await give(served, asked.path, secret, { origin })).status, origin).toBe(403)
    }
    for (const type of ['application/json', 'text/plain', 'multipart/form-data']) {
      expect((await give(served, asked.path, secret, { 'content-type': type })).status, type).toBe(415)
    }
    expect((await give(served, asked.path, 'x'.repeat(300_000))).status).toBe(413)
    for (const [value, problem] of [
      ['', 'Nothing was entered.'],
      ['   ', 'Nothing was entered.'],
      ['x'.repeat(16_385), 'This is too long for a secret.'],
    ] as const) {
      const answer = await give(served, asked.path, value)
      expect(answer).toMatchObject({ status: 400, text: expect.stringContaining(problem) })
    }
    expect((await give(served, asked.path, secret, { origin: own })).status).toBe(200)
  })

  it('SEC-13 a link that has expired is like one that never was', async () => {
    const clock = createManualClock()
    const served = await serve({ clock })
    const late = await askBySecretLink(served)
    await clock.advance(late.minutes * 60_000)
    expect([(await look(served, late.path)).status, (await give(served, late.path)).status]).toEqual([404, 404])
    expect(await kept(served, late)).toBeUndefined()
  })

  it('CAP-7 a link outlives the minute that the Builder waits: a later answer is stored', async () => {
    const clock = createManualClock()
    const served = await serve({ clock })
    const asked = await askBySecretLink(served)
    await clock.advance(120_000)
    expect(await asked.isSet).toBe(false)
    expect((await give(served, asked.path)).status).toBe(200)
    expect(await kept(served, asked)).toBe(secret)
  })

  it('SEC-13 a link to a secret that was given otherwise, or whose build has ended, is like one that never existed', async () => {
    const served = await serve()
    const { secretLinks, familiar, capabilities } = served
    const given = await askBySecretLink(served)
    await capabilities.desk.giveSecret(familiar.userId, given.questionId, secret)
    const stopped = await askBySecretLink(served, { name: 'forecast' })
    await capabilities.desk.stop(familiar.userId, stopped.build.id)
    for (const asked of [given, stopped]) {
      const answers = [await look(served, asked.path), await give(served, asked.path, 'another')]
      expect(answers.map(({ status }) => status)).toEqual([404, 404])
      const again = secretLinks.secretLink(familiar.userId, asked.questionId)
      await expect(again).rejects.toMatchObject({ code: 'not_found' })
    }
    expect([await kept(served, given), await kept(served, stopped)]).toEqual([secret, undefined])
  })

  it('SEC-22 a link is made for a question of one’s own alone', async () => {
    const served = await serve()
    const { questionId } = await askBySecretLink(served)
    const { user } = await served.users.add({ name: 'Ben' })
    const stolen = served.secretLinks.secretLink(user.id, questionId)
    await expect(stolen).rejects.toMatchObject({ code: 'not_found' })
  })

  it('SEC-3 wrong links are counted like wrong tokens, and the right one passes all the same', async () => {
    const clock = createManualClock()
    const served = await serve({ clock, failuresPerMinute: 3 })
    const asked = await askBySecretLink(served)
    const wrong = () => look(served, `/secret/${'A'.repeat(43)}`)
    for (let i = 0; i < 3; i++) expect((await wrong()).status).toBe(404)
    expect(await wrong()).toMatchObject({ status: 429, headers: { 'retry-after': '20' } })
    expect((await served.call({ path: '/api/v1/monitor', token: 'guess' })).status).toBe(429)
    expect((await look(served, asked.path)).status).toBe(200)
    await clock.advance(20_000)
    expect((await wrong()).status).toBe(404)
  })

  it("SEC-9 a model's text in the question is plain text on the page, and untrusted influence is stated", async () => {
    const served = await serve()
    const description = '<img src=x onerror=alert(1)> & "more"\u202e\u001b[31m</p><script>'
    const asked = await askBySecretLink(served, { description, untrusted: true })
    const { text } = await look(served, asked.path)
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt; &amp; &quot;more&quot;&lt;/p&gt;&lt;script&gt;')
    expect(text).toContain('Untrusted text was in view when this was asked.')
    const plain = await askBySecretLink(served, { name: 'other' })
    expect((await look(served, plain.path)).text).not.toContain('Untrusted text')
  })
})

function readable(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)
}
