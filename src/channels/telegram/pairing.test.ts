import fc from 'fast-check'
import { afterEach, expect, test } from 'vitest'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { openScriptedFamiliar } from '../../../test/support/scripted-familiar.ts'
import { createScriptedModel } from '../../../test/support/scripted-model.ts'
import { createIds } from '../../base/ids.ts'
import { openLogger } from '../../base/logger.ts'
import { createPairing, createTelegramContacts, makePairingCode, readPairingCode } from './pairing.ts'
import { createStrangers } from './services.ts'

const minute = 60_000
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function openPairing() {
  const clock = createManualClock()
  const familiar = await openScriptedFamiliar({ model: createScriptedModel({ script: [] }), clock })
  closers.push(() => familiar.close())
  const { database, users } = familiar
  const lines: string[] = []
  const logger = openLogger({ level: 'info', clock, redact: (text) => text, writeLine: (line) => lines.push(line) })
  const contacts = createTelegramContacts({ database, users, allowedIds: () => [1], clock })
  const open = () => createPairing({ database, contacts, clock, ids: createIds(clock), logger })
  const pairing = open()
  const tryAs = (senderId: number, text: string) => pairing.tryCode({ senderId, name: 'Somebody', text })
  return { ...familiar, clock, contacts, pairing, tryAs, lines, open }
}

test('SEC-5 a code pairs the first sender, once, within ten minutes; only its hash is stored', async () => {
  const { pairing, tryAs, contacts, clock, database, userId, lines, open } = await openPairing()
  const { code } = await pairing.makeCode(userId)
  expect(JSON.stringify(await database.read.selectFrom('pairing_codes').selectAll().execute())).not.toContain(code)
  // A restart changes nothing.
  const after = await open().tryCode({ senderId: 7, name: 'Max\u202e', text: ` ${code.slice(0, 4)}-${code.slice(4)} ` })
  expect(after).toEqual({ kind: 'paired', userId })
  expect(await contacts.find(7)).toMatchObject({ id: 7, userId, name: 'Max' })
  expect(await tryAs(8, code)).toEqual({ kind: 'wrong' })
  expect(await contacts.find(8)).toBeUndefined()
  const late = await pairing.makeCode(userId)
  await clock.advance(10 * minute)
  expect(await tryAs(8, late.code)).toEqual({ kind: 'wrong' })
  expect(lines.join('\n')).toContain('a person was paired on Telegram')
  expect(lines.join('\n')).not.toContain(code)
})

test('SEC-5 of two people who send the same code at the same moment one is paired', async () => {
  const { pairing, tryAs, userId } = await openPairing()
  const { code } = await pairing.makeCode(userId)
  const outcomes = await Promise.all([7, 8, 9].map((id) => tryAs(id, code)))
  expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['paired', 'wrong', 'wrong'])
})

test('SEC-5 five wrong attempts block one sender for an hour, even with the right code', async () => {
  const { pairing, tryAs, userId, clock } = await openPairing()
  for (let tries = 0; tries < 5; tries += 1) expect(await tryAs(7, 'AAAAAAAA')).toEqual({ kind: 'wrong' })
  const { code } = await pairing.makeCode(userId)
  expect(await tryAs(7, code)).toEqual({ kind: 'silenced' })
  await clock.advance(61 * minute)
  const again = await pairing.makeCode(userId)
  expect(await tryAs(7, again.code)).toMatchObject({ kind: 'paired' })
})

test('SEC-5 twenty wrong attempts in total invalidate every open code', async () => {
  const { pairing, tryAs, userId, lines } = await openPairing()
  const { code } = await pairing.makeCode(userId)
  for (let tries = 0; tries < 19; tries += 1) await tryAs(100 + tries, 'nonsense')
  const other = await pairing.makeCode(userId)
  for (let tries = 0; tries < 20; tries += 1) await tryAs(200 + tries, 'nonsense')
  expect(await tryAs(7, code)).toEqual({ kind: 'wrong' })
  expect(await tryAs(7, other.code)).toEqual({ kind: 'wrong' })
  expect(lines.join('\n')).toContain('open codes were invalidated')
})

test('ids in the config belong to the owner and stay so', async () => {
  const { contacts, userId, pairing, tryAs } = await openPairing()
  expect(await contacts.find(1)).toEqual({ id: 1, userId, name: '', pairedAt: null })
  const { code } = await pairing.makeCode(userId)
  await tryAs(7, code)
  expect((await contacts.list()).map(({ id }) => id)).toEqual([1, 7])
  expect(await contacts.remove(1)).toBe(false)
  expect(await contacts.remove(7)).toBe(true)
  expect(await contacts.find(7)).toBeUndefined()
})

test('a code is read back however it is typed; nothing else is a code', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1 }), fc.boolean(), (bytes, isSmall) => {
      let at = 0
      const next = () => ((bytes[at % bytes.length] ?? 0) + at++) % 256
      const code = makePairingCode((size) => Uint8Array.from({ length: size }, next))
      expect(code).toMatch(/^[2-9A-HJKMNP-TW-Z]{8}$/)
      expect(readPairingCode(isSmall ? code.toLowerCase() : code)).toBe(code)
    }),
  )
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(readPairingCode(text) ?? '23456789').toMatch(/^[2-9A-HJKMNP-TW-Z]{8}$/)
    }),
  )
})

test('SEC-5 a stranger gets one reply per hour', async () => {
  const clock = createManualClock()
  const strangers = createStrangers(clock)
  expect([strangers.mayBeTold(7), strangers.mayBeTold(7), strangers.mayBeTold(8)]).toEqual([true, false, true])
  await clock.advance(59 * minute)
  expect(strangers.mayBeTold(7)).toBe(false)
  await clock.advance(minute)
  expect(strangers.mayBeTold(7)).toBe(true)
})
