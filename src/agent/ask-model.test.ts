import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { openTestDatabase } from '../../test/support/open-test-database.ts'
import { createScriptedModel, type ScriptedReply } from '../../test/support/scripted-model.ts'
import { createIds } from '../base/ids.ts'
import { type LanguageModel, ModelError } from '../models/model.ts'
import { createOfflineModel } from '../models/offline/offline-model.ts'
import type { Database } from '../storage/database.ts'
import { createAskModel } from './call-model.ts'
import { createLedger } from './ledger.ts'

const clock = createManualClock()
const ids = createIds(clock)
const offline = createOfflineModel({ ids })
let folder: string
let database: Database

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'familiar-ask-'))
  database = await openTestDatabase({ directory: folder, clock })
  await database.write(async (writer) => {
    await writer.insertInto('users').values({ id: 'max', name: 'Max', role: 'owner', created_at: 0 }).execute()
  })
})

afterEach(async () => {
  await database.close()
  await rm(folder, { recursive: true })
})

async function ask(models: LanguageModel[], options: { perDay?: number; signal?: AbortSignal } = {}) {
  const limits = { perMessageNanousd: null, perDayNanousd: options.perDay ?? null, perMonthNanousd: null }
  const ledger = createLedger({ database, clock, ids, limits: () => limits })
  const routes = { route: () => models, byId: () => undefined, list: () => models }
  const askModel = createAskModel({ database, ledger, modelsOf: () => routes, clock, random: () => 0 })
  const { signal = new AbortController().signal } = options
  const answer = await askModel({
    userId: 'max',
    sessionId: null,
    purpose: 'extraction',
    system: 'Be brief.',
    text: 'Why?',
    signal,
  })
  const rows = await database.read.selectFrom('cost_ledger').select(['state', 'purpose', 'cost_nanousd']).execute()
  return { answer, rows }
}

const scripted = (...script: ScriptedReply[]) => createScriptedModel({ script })

describe('createAskModel', () => {
  it('MEM-8 asks one question, and records its cost', async () => {
    const model = scripted({ text: 'Because.' })
    const { answer, rows } = await ask([model])
    expect(answer).toEqual({ ok: true, text: 'Because.' })
    expect(model.requests[0]).toMatchObject({
      system: [{ text: 'Be brief.' }],
      messages: [{ role: 'user', parts: [{ type: 'text', text: 'Why?' }] }],
      tools: [],
    })
    expect(rows).toEqual([{ state: 'settled', purpose: 'extraction', cost_nanousd: 450_000 }])
  })

  it('MEM-8 says that there is no model where only the offline one is, and never asks that one', async () => {
    expect(await ask([offline])).toMatchObject({ answer: { ok: false, reason: 'no_model' }, rows: [] })
    const refused = new ModelError('rejected', 'no such key', { retryable: false, status: 401 })
    const { answer } = await ask([scripted({ error: refused }), offline])
    expect(answer).toEqual({ ok: false, reason: 'failed', message: 'no such key' })
  })

  it('MEM-8 makes no call that does not fit the budget, nor after a stop', async () => {
    const model = scripted({ text: 'Because.' })
    expect((await ask([model], { perDay: 1 })).answer).toMatchObject({ ok: false, reason: 'budget' })
    expect((await ask([model], { signal: AbortSignal.abort() })).answer).toMatchObject({ ok: false, reason: 'aborted' })
    expect(model.requests).toEqual([])
  })

  it('MEM-8 takes an answer that was cut off for none', async () => {
    const { answer, rows } = await ask([scripted({ text: '{"notes": [', stopReason: 'max_tokens' })])
    expect(answer).toEqual({ ok: false, reason: 'failed', message: 'The response ended with max_tokens' })
    expect(rows).toMatchObject([{ state: 'settled' }])
  })
})
