import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { type TableRule, userTables } from '../../src/security/users.ts'
import { profileDirectoryOf } from '../../src/tools/builtin/browsers.ts'
import { createScriptedModel } from '../support/scripted-model.ts'
import { greeterFiles, greeterManifest } from '../support/served-capabilities.ts'
import { type ServedFamiliar, serveFamiliar } from './http-support.ts'
import { openRawTables, type RawTables, untilSearchable } from './raw-tables.ts'

const word = 'zanzibar'
const toml = '[memory]\nextraction = false\n[memory.embedding]\nprovider = "off"\n'
const rules: [table: string, rule: TableRule][] = Object.entries(userTables)
/** The tables of the text index, which removes a user in its own way. */
const textIndex = /^text_(index(_\w+)?|entries|scopes)$/
/** The engine's own. */
const bookkeeping = ['schema_migrations', 'sqlite_sequence']

let served: ServedFamiliar
let exports: string

beforeAll(() => {
  exports = mkdtempSync(join(tmpdir(), 'familiar-removed-'))
})
afterAll(() => rm(exports, { recursive: true, force: true }))

/** A row of the user in every table that has any, whatever its columns: a new table is filled without a word here. */
async function fillEveryTable(raw: RawTables, userId: string): Promise<void> {
  const keys = new Map<string, Record<string, unknown>>([['users', { id: userId }]])
  for (const [table, rule] of [...rules].reverse()) {
    if (rule.rows === 'shared' || table === 'users') continue
    const references = new Map<string, unknown>()
    for (const { column, of, key } of await raw.references(table)) references.set(column, keys.get(of)?.[key])
    if (rule.rows === 'parts') references.set(rule.column, keys.get(rule.of)?.[rule.key])
    const row: Record<string, unknown> = {}
    for (const { name, type } of await raw.columns(table)) {
      if (name === 'user_id') row[name] = userId
      else if (references.has(name)) row[name] = references.get(name)
      else if (/int/i.test(type)) row[name] = 990_001
      else if (/double/i.test(type)) row[name] = 0.5
      else if (/blob|bytea/i.test(type)) row[name] = Buffer.from(`${word} in ${table}`)
      else row[name] = `${table} ${name} ${word}`
    }
    // Nothing of it is under way.
    if ('state' in row) row.state = 'done'
    await raw.insert(table, row)
    keys.set(table, row)
  }
}

function filesUnder(directory: string): string[] {
  if (!existsSync(directory)) return []
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

describe('a user that is removed', () => {
  let benId: string
  let token: string
  let directory: string
  let raw: RawTables

  beforeAll(async () => {
    served = await serveFamiliar({ toml, model: createScriptedModel({ script: () => ({ text: 'Hello.' }) }) })
    const { familiar, users, capabilities } = served
    await familiar.say('I am the owner and like Oslo')
    const { user, made } = await users.add({ name: 'ben', scope: 'owner' })
    benId = user.id
    token = made.token
    directory = join(exports, 'ben')
    const attachments = [
      { name: 'a.txt', media_type: 'text/plain', data: Buffer.from(`a file of ${word}`).toString('base64') },
      { name: 'b.txt', media_type: 'text/plain', data: Buffer.from('a file of everybody').toString('base64') },
    ]
    const chat = { message: `I live in ${word}`, attachments }
    expect((await served.call({ path: '/api/v1/chat', token, body: chat })).status).toBe(200)
    const shared = { message: 'Look at this', attachments: attachments.slice(1) }
    expect((await served.call({ path: '/api/v1/chat', body: shared })).status).toBe(200)
    const { memories, facts } = familiar.memory
    await memories.add({ userId: benId, kind: 'note', content: `The ${word} house has a blue door`, source: 'user' })
    await facts.write({ userId: benId, entity: 'Ben', attribute: 'home', value: word, source: 'user' })
    const named = greeterManifest({ name: 'ben_greeter', description: `Greets ${word}` })
    await capabilities.publish(benId, greeterFiles({ 'manifest.json': named }))
    const profile = profileDirectoryOf(join(familiar.home, 'browser'), benId)
    mkdirSync(profile, { recursive: true })
    writeFileSync(join(profile, 'cookies'), word)
    await familiar.learning.idle()
    raw = openRawTables(familiar.database)
    await fillEveryTable(raw, benId)
  })
  afterAll(() => served.close())

  it('USERS-1 has a rule for every table, and every column that names a user is looked at', async () => {
    const known = new Set(rules.map(([table]) => table))
    const tables = (await raw.names()).filter((table) => !textIndex.test(table) && !bookkeeping.includes(table))
    expect(tables.filter((table) => !known.has(table))).toEqual([])
    for (const [table, rule] of rules) {
      const namesUser = (await raw.columns(table)).some(({ name }) => name === 'user_id')
      expect({ table, isOwn: rule.rows === 'own' }).toEqual({ table, isOwn: namesUser })
      if (rule.rows === 'shared' || rule.exportedBy === null) continue
      // Pages follow each other without a gap only in an order in which no two rows are equal.
      expect({ table, exportedBy: rule.exportedBy }).toEqual({ table, exportedBy: await raw.keyOf(table) })
    }
  })

  it('USERS-1 is exported whole, without secrets and tokens, and then nothing is left of them anywhere', async () => {
    const { familiar, localToken } = served
    await untilSearchable(familiar.database)
    const before = await rowsBut(raw, benId)
    const hashes = await raw.rows('access_tokens')
    const call = { path: '/api/v1/local/users/ben/remove', body: { directory }, token: localToken }
    const removed = await served.call(call)
    expect(removed).toMatchObject({ status: 200, json: { user: { name: 'ben' }, directory } })

    const written = filesUnder(directory)
    expect(written.map((path) => path.slice(directory.length + 1)).sort()).toEqual(removed.json.files)
    const text = (name: RegExp) =>
      written
        .filter((path) => name.test(path))
        .map((path) => readFileSync(path, 'utf8'))
        .join('\n')
    expect(text(/\d{4}-\d\d-\d\d\.jsonl$/)).toContain(`I live in ${word}`)
    expect(text(/memories\.jsonl$/)).toContain(`The ${word} house has a blue door`)
    expect(text(/media\/[0-9a-f]{64}$/)).toContain(`a file of ${word}`)
    for (const [table, rule] of rules) {
      const isExported = rule.rows !== 'shared' && rule.exportedBy !== null
      expect({ table, isExported: text(new RegExp(`tables/${table}\\.jsonl$`)) !== '' }).toEqual({ table, isExported })
    }
    expect(text(/./)).not.toContain(`secrets sealed ${word}`)
    for (const { token_hash } of hashes) expect(text(/./)).not.toContain(token_hash)

    for (const table of await raw.names()) {
      const rows = JSON.stringify(await raw.rows(table))
      expect(rows.includes(benId), table).toBe(false)
      expect(rows.includes(word), table).toBe(false)
    }
    expect(await rowsBut(raw, benId)).toEqual(before)
    for (const path of filesUnder(familiar.home)) {
      const bytes = readFileSync(path)
      expect(bytes.includes(word), path).toBe(false)
      expect(bytes.includes(benId), path).toBe(false)
    }
    expect(filesUnder(join(familiar.home, 'media'))).toHaveLength(1)
    expect(existsSync(profileDirectoryOf(join(familiar.home, 'browser'), benId))).toBe(false)
  })

  it('USERS-1 does not come in again, and nothing of theirs can be written', async () => {
    const { familiar, users } = served
    expect((await served.call({ path: '/api/v1/status', token })).status).toBe(401)
    await expect(familiar.say('Hello', { userId: benId })).rejects.toThrow()
    const note = { userId: benId, kind: 'note', content: word, source: 'user' } as const
    await expect(familiar.memory.memories.add(note)).rejects.toThrow()
    expect(users.planOf(benId)).toMatchObject({ tools: { deny: ['*'] } })
    expect(users.list().map(({ name }) => name)).toEqual(['Anna'])
  })
})

/** The rows of all other users in every table, except the index of texts. */
async function rowsBut(raw: RawTables, userId: string): Promise<unknown> {
  const left: unknown[] = []
  for (const [table, rule] of rules) {
    const rows = rule.rows === 'own' ? await raw.rows(table) : []
    left.push([
      table,
      rows
        .filter((row) => row.user_id !== userId)
        .map((row) => JSON.stringify(row))
        .sort(),
    ])
  }
  return left
}

describe('a removal that cannot be', () => {
  beforeAll(async () => {
    const script = () => ({ text: 'Hello.', delayMs: 3_600_000 })
    served = await serveFamiliar({ toml, model: createScriptedModel({ script, clock: systemClock() }) })
    await served.users.add({ name: 'ben' })
  })
  afterAll(() => served.close())

  const remove = (name: string, directory: string) =>
    served.call({ path: `/api/v1/local/users/${name}/remove`, body: { directory }, token: served.localToken })

  it('USERS-1 is refused for the owner, for an unknown user, and for a folder that is not empty', async () => {
    const full = join(exports, 'full')
    mkdirSync(full)
    writeFileSync(join(full, 'mine.txt'), 'mine')
    expect(await remove('Anna', join(exports, 'anna'))).toMatchObject({ status: 400 })
    expect(await remove('eve', join(exports, 'eve'))).toMatchObject({ status: 404 })
    expect(await remove('ben', 'relative')).toMatchObject({ status: 400 })
    expect(await remove('ben', full)).toMatchObject({ status: 409 })
    expect(readdirSync(full)).toEqual(['mine.txt'])
    expect(existsSync(join(exports, 'anna'))).toBe(false)
    expect(served.users.list().map(({ name }) => name)).toEqual(['Anna', 'ben'])
  })

  it('USERS-1 stops running work first', async () => {
    const { familiar, users } = served
    const { user } = await users.add({ name: 'cleo' })
    const say = (text: string) => familiar.conversations.submit(familiar.inbound(text, { userId: user.id }))
    await say('A turn that would take an hour')
    await say('One that waits behind it')
    await expect.poll(() => familiar.monitor.current().turns).toHaveLength(1)
    expect(await remove('cleo', join(exports, 'cleo'))).toMatchObject({ status: 200 })
    expect(familiar.monitor.current().turns).toEqual([])
    expect(users.list().map(({ name }) => name)).not.toContain('cleo')
  })
})
