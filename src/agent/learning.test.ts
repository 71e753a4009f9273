import { afterEach, describe, expect, it } from 'vitest'
import { type LearningMemory, openLearningMemory } from '../../test/support/learning-memory.ts'
import { createScriptedModel, type Script, type ScriptedModel } from '../../test/support/scripted-model.ts'
import { waitFor } from '../../test/support/wait-for.ts'
import { createWakeups } from '../base/work.ts'
import { createConsolidation, createFileConsolidation } from '../memory/learning/consolidation.ts'
import { createExtraction } from '../memory/learning/extraction.ts'
import { createConversationIndex } from '../memory/learning/index-conversation.ts'
import { ModelError } from '../models/model.ts'
import { createOfflineModel } from '../models/offline/offline-model.ts'
import { createAskModel } from './call-model.ts'
import { createLearning, type Learning } from './learning.ts'
import { createLedger } from './ledger.ts'
import type { SessionEvent } from './sessions/session-event.ts'
import { createSessionLog, type SessionLog } from './sessions/session-log.ts'
import { createSessions, type Session, type Sessions } from './sessions/sessions.ts'

const opened: { close(keep: boolean): Promise<void> }[] = []

afterEach(async () => {
  for (const { close } of opened.splice(0).toReversed()) await close(false)
})

const facts = (...values: string[]) =>
  JSON.stringify({ facts: values.map((value) => ({ entity: 'user', attribute: 'visited', value })) })

interface Scene extends Learning {
  memory: LearningMemory
  fast: ScriptedModel
  log: SessionLog
  sessions: Sessions
  session: Session
  /** Writes a turn into the log, as a conversation does. Returns the last place of it. */
  say(text: string, turn?: { source?: string; model?: string }): Promise<number>
  /** The same, and learns from it to the end. */
  tell(text: string, turn?: { source?: string; model?: string }): Promise<void>
  contents(kind: 'note' | 'fact' | 'episode' | 'chunk'): Promise<string[]>
}

const reply = 'The assistant recommends Lisbon as a place to visit.'

async function openScene(options: {
  script: Script
  home?: string
  isIndexing?: boolean
  isExtracting?: boolean
  offline?: boolean
  files?: { path: string; text: string; at: number }[]
  perDay?: number
}): Promise<Scene> {
  const memory = await openLearningMemory({ ...(options.home && { home: options.home }) })
  const { database, clock, ids, logger } = memory
  const offline = createOfflineModel({ ids })
  const fast = createScriptedModel({ script: options.script, clock, info: { id: 'scripted/fast' } })
  const models = {
    route: () => (options.offline ? [offline] : [fast]),
    byId: (id: string) => (id === offline.info.id ? offline : undefined),
    list: () => [offline, fast],
  }
  const limits = { perMessageNanousd: null, perDayNanousd: options.perDay ?? null, perMonthNanousd: null }
  const ledger = createLedger({ database, clock, ids, limits: () => limits })
  const log = createSessionLog({ database, clock, wakeups: createWakeups() })
  const sessions = createSessions({ database, clock, ids })
  const shared = {
    ...memory,
    askModel: createAskModel({ database, ledger, modelsOf: () => models, clock, random: () => 0 }),
  }
  const learning = createLearning({
    database,
    log,
    models,
    index: createConversationIndex(shared),
    extraction: createExtraction(shared),
    consolidation: createConsolidation(shared),
    consolidateFile: createFileConsolidation(shared),
    readFiles: async () => options.files ?? [],
    clock,
    logger,
    isIndexing: () => options.isIndexing ?? true,
    isExtracting: () => options.isExtracting ?? true,
    isHere: async () => true,
  })
  opened.push({
    async close(keep) {
      await learning.close()
      await memory.close({ keep })
    },
  })
  const key = { userId: 'max', channel: 'cli', contact: 'main' }
  const session = await database.write((writer) => sessions.ensure(writer, key))
  const say: Scene['say'] = async (text, { source = 'cli', model = 'scripted/main' } = {}) => {
    const logged = await log.record({ sessionId: session.id, turnId: ids.next() }, turnOf(text, source, model))
    return logged.at(-1)?.seq ?? 0
  }
  return {
    ...learning,
    memory,
    fast,
    log,
    sessions,
    session,
    say,
    async tell(text, turn) {
      await say(text, turn)
      learning.afterTurn(session)
      await learning.idle()
    },
    contents: (kind) => memory.contents('max', kind),
  }
}

function turnOf(text: string, source: string, model: string): SessionEvent[] {
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 }
  return [
    { type: 'message_received', messageId: text, text, media: [], sender: 'max', source, tier: 'full', metadata: {} },
    { type: 'turn_started', messageIds: [text], source, tier: 'full', model, context: '', recalled: [] },
    {
      type: 'model_responded',
      model,
      parts: [{ type: 'text', text: reply }],
      stopReason: 'end',
      usage,
      costNanousd: 0,
    },
    { type: 'turn_ended', outcome: 'completed', text: reply, question: null, toolCalls: [], deliver: true },
  ]
}

describe('createLearning', () => {
  it('SESS-12 learns nothing from a private conversation, also at its end and after a restart', async () => {
    const scene = await openScene({ script: [{ text: facts('Lisbon') }] })
    const { memory, session } = scene
    await memory.database.write((writer) => writer.updateTable('sessions').set({ remembered: 0 }).execute())
    await scene.tell('My brother Ben works in a bakery in Kiel.')
    scene.afterClose(session)
    await scene.idle()
    expect(await scene.beforeSwap(session, 1_000, new AbortController().signal)).toBeUndefined()
    expect(await scene.recover()).toBe(0)
    for (const kind of ['chunk', 'fact', 'episode', 'note'] as const) expect(await scene.contents(kind)).toEqual([])
    expect(scene.fast.requests).toEqual([])
  })

  it('SESS-11 MEM-8 keeps passages of the chosen branch alone, and those of another one once it is chosen', async () => {
    const scene = await openScene({ script: [], isExtracting: false })
    const { log, session, sessions, say, tell, contents } = scene
    const jump = async (event: SessionEvent) => {
      await log.record({ sessionId: session.id, turnId: null }, [event])
      scene.afterTurn((await sessions.get('max', session.id)) ?? session)
      await scene.idle()
    }
    const before = await say('My sister Anna moved to Porto in spring.')
    const kiel = 'My brother Ben works in a bakery in Kiel.'
    const bonn = 'My brother Ben works in a library in Bonn.'
    await tell(kiel)
    const users = async () => (await contents('chunk')).filter((text) => text.startsWith('My'))
    expect(await users()).toHaveLength(2)
    const { lastSeq: left } = (await sessions.get('max', session.id)) ?? session

    await log.record({ sessionId: session.id, turnId: null }, [{ type: 'rewound', toSeq: before }])
    await tell(bonn)
    expect((await users()).toSorted()).toEqual([bonn, 'My sister Anna moved to Porto in spring.'])
    await jump({ type: 'branch_chosen', toSeq: left })
    expect((await users()).toSorted()).toEqual([kiel, 'My sister Anna moved to Porto in spring.'])
    // The same again, as after a kill.
    await scene.recover()
    await scene.idle()
    expect(await users()).toHaveLength(2)
    await jump({ type: 'rewound', toSeq: 0 })
    expect(await users()).toEqual([])
  })

  it('MEM-8 learns from a turn after it has ended, from the user’s words alone', async () => {
    const scene = await openScene({ script: () => ({ text: facts('Oslo', 'Lisbon') }) })
    await scene.tell('Last spring I visited Oslo')
    expect(await scene.contents('fact')).toEqual(['user visited Oslo'])
    expect(await scene.contents('chunk')).toEqual(['Last spring I visited Oslo', reply])
    const [row] = await scene.memory.database.read
      .selectFrom('cost_ledger')
      .selectAll()
      .where('purpose', '=', 'extraction')
      .execute()
    expect(row).toMatchObject({ model: 'scripted/fast', state: 'settled', user_id: 'max' })
  })

  it('MEM-8 learns each turn once, however often it is asked', async () => {
    const scene = await openScene({ script: () => ({ text: facts('Oslo') }) })
    await scene.tell('Last spring I visited Oslo')
    await scene.tell('Thanks!')
    await scene.log.record({ sessionId: scene.session.id, turnId: null }, [{ type: 'marked', name: 'here' }])
    expect(await scene.recover()).toBe(1)
    for (let round = 0; round < 3; round += 1) scene.afterTurn(scene.session)
    await scene.idle()
    expect(await scene.recover()).toBe(0)
    expect(scene.fast.requests).toHaveLength(1)
    expect(await scene.contents('chunk')).toHaveLength(2 + 1)
    expect(await scene.contents('fact')).toHaveLength(1)
  })

  it('MEM-8 leaves automated messages alone', async () => {
    const scene = await openScene({ script: [] })
    await scene.tell('Check whether the backup of Oslo is done', { source: 'system' })
    expect(scene.fast.requests).toEqual([])
    expect(await scene.contents('chunk')).toEqual([])
    expect(await scene.recover()).toBe(0)
  })

  it('MEM-8 tries again after the next turn, in order, and shows what went wrong', async () => {
    const failure = { error: new ModelError('rejected', 'no such model', { retryable: false, status: 400 }) }
    const scene = await openScene({ script: [failure, { text: facts('Oslo') }, { text: facts('Rome') }] })
    await scene.tell('Last spring I visited Oslo')
    expect(await scene.contents('fact')).toEqual([])
    const { extraction } = await scene.status('max')
    expect(extraction).toMatchObject({ failures: 1, last: { reason: 'failed: no such model' } })
    await scene.tell('In summer I visited Rome')
    expect(await scene.contents('fact')).toEqual(['user visited Oslo', 'user visited Rome'])
  })

  it('MEM-8 resumes unfinished work at the start', async () => {
    const first = await openScene({ script: [] })
    await first.say('Last spring I visited Oslo')
    for (const { close } of opened.splice(0)) await close(true)
    const scene = await openScene({ script: () => ({ text: facts('Oslo') }), home: first.memory.home })
    expect(await scene.recover()).toBe(1)
    await scene.idle()
    expect(await scene.contents('fact')).toEqual(['user visited Oslo'])
    expect(await scene.recover()).toBe(0)
  })

  it('MEM-8 calls no model for old exchanges, and none if extraction is off', async () => {
    const scene = await openScene({ script: [] })
    await scene.say('Last spring I visited Oslo')
    await scene.memory.clock.advance(3 * 86_400_000)
    scene.afterTurn(scene.session)
    await scene.idle()
    expect(await scene.contents('chunk')).toHaveLength(2)
    const off = await openScene({ script: [], isExtracting: false })
    await off.tell('Last spring I visited Oslo')
    expect(await off.contents('chunk')).toHaveLength(2)
    expect(await off.beforeSwap(off.session, 100, new AbortController().signal)).toBeUndefined()
    for (const { fast, recover } of [scene, off]) {
      expect(fast.requests).toEqual([])
      expect(await recover()).toBe(0)
    }
  })

  it('MEM-8 stores no conversation lines if the user disabled it, and does not catch up later', async () => {
    const scene = await openScene({ script: [], isIndexing: false, isExtracting: false })
    await scene.say('Last spring I visited Oslo')
    scene.afterTurn(scene.session)
    expect(await scene.recover()).toBe(1)
    await scene.tell('In autumn I visited Rome')
    expect(await scene.recover()).toBe(0)
    expect(await scene.contents('chunk')).toEqual([])
  })

  it('MEM-1 takes turns that follow each other quickly together, and has all of them after a pause', async () => {
    const scene = await openScene({ script: [], isExtracting: false })
    const { clock } = scene.memory
    const settled = () => waitFor(async () => expect((await scene.status('max')).waiting).toBe(0))
    for (const place of ['Oslo', 'Rome']) {
      await scene.say(`I visited ${place}`)
      scene.afterTurn(scene.session)
      await clock.advance(400)
    }
    expect(await scene.contents('chunk')).toEqual([])
    await clock.advance(100)
    await settled()
    await waitFor(async () =>
      expect(await scene.contents('chunk')).toEqual(['I visited Oslo', reply, 'I visited Rome', reply]),
    )
    for (let turn = 1; turn <= 13; turn += 1) {
      await scene.say(`Day number ${turn} of the trip`)
      scene.afterTurn(scene.session)
      await clock.advance(400)
    }
    // No pause in five seconds: the earlier messages are stored all the same.
    await waitFor(async () => expect(await scene.contents('chunk')).toHaveLength(4 + 2 * 13))
  })

  it('MEM-1 loses nothing where Familiar stops before the pause', async () => {
    const first = await openScene({ script: [], isExtracting: false })
    await first.say('Last spring I visited Oslo')
    first.afterTurn(first.session)
    expect((await first.status('max')).waiting).toBe(1)
    for (const { close } of opened.splice(0)) await close(true)
    expect(first.memory.clock.timers()).toBe(0)
    const scene = await openScene({ script: [], isExtracting: false, home: first.memory.home })
    expect(await scene.contents('chunk')).toEqual([])
    expect(await scene.recover()).toBe(1)
    await scene.idle()
    expect(await scene.contents('chunk')).toEqual(['Last spring I visited Oslo', reply])
    expect(await scene.recover()).toBe(0)
  })

  it('MEM-8 reads by form with the offline model, whose replies are not kept', async () => {
    const scene = await openScene({ script: [], offline: true })
    await scene.tell('Bea is a marine biologist', { model: 'offline/offline' })
    expect(await scene.contents('fact')).toEqual(['Bea: occupation is marine biologist'])
    expect(await scene.contents('chunk')).toEqual(['Bea is a marine biologist'])
    const { signal } = new AbortController()
    expect(await scene.consolidate(scene.session, signal)).toMatchObject({ ok: false, reason: 'no_model' })
  })

  it('MEM-8 does not learn a fork’s past again', async () => {
    const scene = await openScene({ script: () => ({ text: facts('Oslo') }) })
    await scene.tell('Last spring I visited Oslo')
    const { lastSeq = 0 } = (await scene.sessions.get('max', scene.session.id)) ?? {}
    scene.afterTurn(await scene.sessions.fork(scene.session, { contact: 'other', throughSeq: lastSeq }))
    await scene.idle()
    expect(scene.fast.requests).toHaveLength(1)
    expect(await scene.contents('chunk')).toHaveLength(2)
  })

  it('MEM-8 stops at once when Familiar stops, and counts nothing as failed', async () => {
    const begun = Promise.withResolvers<void>()
    const scene = await openScene({
      script: () => {
        begun.resolve()
        return { delayMs: 60_000, text: facts('Oslo') }
      },
    })
    await scene.say('Last spring I visited Oslo')
    scene.afterTurn(scene.session)
    await begun.promise
    await scene.close()
    expect((await scene.status('max')).extraction).toBeUndefined()
    scene.afterTurn(scene.session)
    expect((await scene.status('max')).waiting).toBe(0)
  })

  it('MEM-1 reads a long log batch by batch, also a turn that is longer than a batch', async () => {
    const scene = await openScene({ script: [], isExtracting: false })
    const { id } = scene.session
    for (let number = 1; number <= 120; number += 1) await scene.say(`Day number ${number} of the trip`)
    const [received, ...rest] = turnOf('The longest day of the trip', 'cli', 'scripted/main')
    const tries = Array.from({ length: 1_000 }, (_, attempt): SessionEvent => {
      return { type: 'model_failed', model: 'scripted/main', attempt, reason: 'busy', waitMs: 1 }
    })
    if (received) await scene.log.record({ sessionId: id, turnId: 'long' }, [received, ...tries, ...rest])
    await scene.tell('The last day of the trip')
    const passages = await scene.contents('chunk')
    expect(passages.filter((passage) => passage !== reply)).toEqual([
      ...Array.from({ length: 120 }, (_, index) => `Day number ${index + 1} of the trip`),
      'The longest day of the trip',
      'The last day of the trip',
    ])
    expect(await scene.recover()).toBe(0)
  })

  it('MEM-8 waits for money, and asks nothing meanwhile', async () => {
    const scene = await openScene({ script: [], perDay: 1 })
    await scene.tell('Last spring I visited Oslo')
    expect(scene.fast.requests).toEqual([])
    expect(await scene.recover()).toBe(1)
  })

  it('MEM-9 consolidates a session on demand and at its close, once', async () => {
    const summary = 'The user visited Oslo last spring with the family.'
    const script: Script = ({ system }) =>
      system[0]?.name === 'extraction'
        ? { text: '{}' }
        : { text: JSON.stringify({ episode: { summary, topics: [], decisions: [] } }) }
    const scene = await openScene({ script })
    await scene.tell('Last spring I visited Oslo with the family')
    const { session } = scene
    const { signal } = new AbortController()
    expect(await scene.consolidate(session, signal)).toMatchObject({ ok: true, parts: 1, added: { episodes: 1 } })
    expect(await scene.consolidate(session, signal)).toMatchObject({ ok: true, parts: 0 })
    await scene.sessions.archive(session)
    scene.afterClose(session)
    await scene.idle()
    expect(await scene.contents('episode')).toEqual([summary])
    expect(scene.fast.requests).toHaveLength(2)
  })

  it('MEM-9 returns the writes for the swap of a compaction, up to its position', async () => {
    const script: Script = (request) => {
      const [part] = request.messages[0]?.role === 'user' ? request.messages[0].parts : []
      const text = part?.type === 'text' ? part.text : ''
      return { text: facts(...['Oslo', 'Rome'].filter((place) => text.includes(place))) }
    }
    const scene = await openScene({ script })
    const { session } = scene
    const throughSeq = await scene.say('Last spring I visited Oslo')
    await scene.say('In summer I visited Rome')
    const { signal } = new AbortController()
    const write = await scene.beforeSwap(session, throughSeq, signal)
    expect(await scene.contents('fact')).toEqual([])
    await scene.memory.database.write(async (writer) => write?.(writer))
    expect(await scene.contents('fact')).toEqual(['user visited Oslo'])
    expect(await scene.beforeSwap(session, throughSeq, signal)).toBeUndefined()
    await scene.consolidate(session, signal)
    expect(await scene.contents('fact')).toEqual(['user visited Oslo', 'user visited Rome'])
  })

  it('MEM-9 reads the files that changed', async () => {
    const files = [
      { path: 'MEMORY.md', text: 'I visited Oslo', at: 1 },
      { path: 'memory/trips.md', text: 'I visited Rome', at: 2 },
    ]
    const scene = await openScene({ script: () => ({ text: facts('Oslo', 'Rome') }), files })
    const { signal } = new AbortController()
    expect(await scene.consolidateFiles('max', signal)).toMatchObject([{ parts: 1 }, { parts: 1 }])
    expect(await scene.consolidateFiles('max', signal)).toMatchObject([{ parts: 0 }, { parts: 0 }])
    expect(await scene.contents('fact')).toEqual(['user visited Oslo', 'user visited Rome'])
  })
})
