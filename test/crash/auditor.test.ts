import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { outcomeUnknown } from '../../src/agent/sessions/projection.ts'
import type { Evidence } from './audit/evidence.ts'
import { writeSoundFile } from './audit/sound-file.ts'
import { audit } from './auditor.ts'

let folder: string
let sound: Evidence
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'familiar-audit-'))
  sound = await writeSoundFile(folder)
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Breaks the file as no correct daemon could. */
function damage(...statements: string[]): void {
  const database = new DatabaseSync(sound.databasePath, { enableForeignKeyConstraints: false })
  for (const sql of statements) database.exec(sql)
  database.close()
}

/** Puts one more event at the end of the log. */
function append(turnId: string, type: string, data: object): void {
  damage(
    `insert into session_events select 'session', last_seq + 1, '${type}', '${turnId}', 50, '${JSON.stringify(data)}'
       from sessions`,
    'update sessions set last_seq = last_seq + 1',
  )
}

const kindsOf = (violations: string[]) => [...new Set(violations.map((violation) => violation.split(':')[0]))]
const finding = (kind: string) => expect.arrayContaining([kind])

describe('SESS-3 SESS-5 the auditor', () => {
  test('finds nothing after a run without a crash', () => {
    expect(audit(sound)).toEqual([])
  })

  test('finds an acknowledged message that is not in the inbox', () => {
    damage("delete from inbox where id = 'message-2'")
    expect(kindsOf(audit(sound))).toEqual(finding('lost message'))
    const unacknowledged = { ...sound.messages[1], acknowledgedAt: undefined } as Evidence['messages'][number]
    const messages = sound.messages.slice(0, 1).concat(unacknowledged)
    expect(kindsOf(audit({ ...sound, messages }))).not.toContain('lost message')
  })

  test.each(['queued', 'running'])('finds an acknowledged message that is still %s once all has settled', (state) => {
    damage(`update inbox set state = '${state}' where id = 'message-2'`)
    expect(kindsOf(audit(sound))).toEqual(finding('lost message'))
  })

  test('finds a message whose text is not in the log, or there twice', () => {
    damage("update session_events set data = replace(data, 'Go on, word-2', 'Go on') where type = 'message_received'")
    expect(kindsOf(audit(sound))).toEqual(finding('lost message'))
    damage("update session_events set data = replace(data, 'Go on', 'Go on, word-2 Go on, word-2')")
    expect(kindsOf(audit(sound))).toEqual(finding('doubled message'))
  })

  test('finds a message that a summary has swallowed', () => {
    append('turn-2', 'compacted', { throughSeq: 7, summary: 'Nothing of note.', messages: 3, beforeTokens: 9 })
    expect(audit(sound)).toContain('lost message: a model is told word-1 0 times')
  })

  test('finds messages sent without a key by their text', () => {
    const messages = sound.messages.map((message) => ({ ...message, key: null }))
    expect(audit({ ...sound, messages })).toEqual([])
    damage("update inbox set data = replace(data, 'word-2', 'word-1')")
    expect(audit({ ...sound, messages })).toEqual(
      expect.arrayContaining([
        'doubled message: word-1 is in the inbox 2 times',
        'lost message: word-2 is not in the inbox',
      ]),
    )
  })

  test('finds a message that was never sent', () => {
    expect(kindsOf(audit({ ...sound, messages: sound.messages.slice(1) }))).toEqual(['invented message'])
  })

  test('finds messages in another order than they were acknowledged in', () => {
    const messages = sound.messages.map((message) => ({
      ...message,
      sentAt: 9 - message.sentAt,
      acknowledgedAt: 9 - message.sentAt,
    }))
    expect(kindsOf(audit({ ...sound, messages }))).toEqual(['reordered messages'])
  })

  test('finds a reply that the turn never gave', () => {
    const messages = sound.messages.map((message) => ({ ...message, reply: 'Done: word-2' }))
    expect(kindsOf(audit({ ...sound, messages }))).toEqual(['false reply'])
  })

  test('finds a turn that ended twice, or went on after its end', () => {
    append('turn-2', 'turn_ended', {
      outcome: 'completed',
      text: 'Done: word-2',
      question: null,
      toolCalls: [],
      deliver: true,
    })
    expect(audit(sound)).toContain('double turn: turn-2 ended 2 times')
    expect(audit(sound)).toContain('double turn: turn-2 went on after its end')
  })

  test('finds a message in two turns', () => {
    const context = 'You had asked: Which one?'
    append('turn-3', 'turn_started', {
      messageIds: ['message-1'],
      source: 'http',
      tier: 'full',
      model: 'm',
      context,
      recalled: [],
    })
    expect(audit(sound)).toContain('double turn: message key-1 is in the turns turn-1 and turn-3')
    expect(audit(sound)).toContain('unfinished turn: turn-3')
  })

  test('finds a turn that inbox and log do not agree on', () => {
    damage("update inbox set turn_id = 'turn-1' where id = 'message-2'")
    expect(kindsOf(audit(sound))).toEqual(finding('torn turn'))
  })

  test('finds a turn that failed, and one that answered something else', () => {
    damage("update session_events set data = replace(data, 'completed', 'failed') where type = 'turn_ended'")
    expect(kindsOf(audit(sound))).toEqual(finding('failed turn'))
    damage("update session_events set data = replace(data, 'Done: word-2', 'Done') where type = 'turn_ended'")
    expect(kindsOf(audit(sound))).toEqual(finding('unanswered message'))
  })

  test('LOOP-4 finds a question that the next turn did not receive', () => {
    damage("update session_events set data = replace(data, 'You had asked', 'Asked: nothing') where seq = 9")
    expect(kindsOf(audit(sound))).not.toContain('forgotten question')
    damage("update session_events set data = replace(data, 'Which one?', '') where seq = 9")
    expect(kindsOf(audit(sound))).toEqual(finding('forgotten question'))
  })

  test('finds an at-most-once side effect that happened twice, by one call or by two', () => {
    const [line] = sound.sideEffects
    if (!line) throw new Error('The sound file has a side effect')
    const byOne = audit({ ...sound, sideEffects: [line, line] })
    expect(byOne).toEqual(['double side effect: call-1', 'double side effect: charge 1'])
    const byTwo = audit({ ...sound, sideEffects: [line, { ...line, callId: 'call-2' }] })
    expect(byTwo).toEqual(['double side effect: charge 1', 'unwritten side effect: charge 1 by call call-2'])
    const repeatable = { ...line, effect: 'at-least-once' } as const
    expect(audit({ ...sound, sideEffects: [repeatable, repeatable] })).toEqual([])
  })

  test('finds a call that succeeded without its side effect', () => {
    expect(kindsOf(audit({ ...sound, sideEffects: [] }))).toEqual(['missing side effect'])
  })

  test('finds an unknown outcome that no crash explains', () => {
    const unknown = JSON.stringify({ callId: 'call-1', name: 'charge', text: outcomeUnknown, isError: true })
    damage(
      `update session_events set data = '${unknown}' where type = 'tool_finished'`,
      'delete from session_snapshots',
    )
    expect(kindsOf(audit(sound))).toEqual(['idle repair'])
    expect(audit({ ...sound, interruptions: [5] })).toEqual([])
    expect(audit({ ...sound, interruptions: [5], sideEffects: [] })).toEqual([])
    damage("update session_events set data = replace(data, 'at-most-once', 'idempotent') where type = 'tool_started'")
    expect(kindsOf(audit({ ...sound, interruptions: [5] }))).toEqual(['idle repair'])
  })

  test('finds a tool that failed for another reason', () => {
    damage("update session_events set data = replace(data, 'false', 'true') where type = 'tool_finished'")
    expect(kindsOf(audit(sound))).toEqual(finding('failed tool'))
  })

  test('finds a tool call without a result, and one with two', () => {
    damage("update session_events set type = 'reset', turn_id = null where type = 'tool_finished'")
    expect(kindsOf(audit(sound))).toEqual(finding('orphan tool call'))
    damage("update session_events set type = 'tool_finished', turn_id = 'turn-1' where type = 'reset'")
    append('turn-1', 'tool_finished', { callId: 'call-1', name: 'charge', text: 'charged', isError: false })
    expect(kindsOf(audit(sound))).toEqual(finding('double result'))
  })

  test('finds a request that the provider refused', () => {
    const rejections = ['tool_use ids were found without tool_result blocks']
    expect(kindsOf(audit({ ...sound, rejections }))).toEqual(['provider rejection'])
  })

  test('finds a history that a provider would refuse', () => {
    append('turn-2', 'model_responded', {
      model: 'm',
      parts: [{ type: 'tool_call', id: 'call-1', name: 'charge', input: {} }],
      stopReason: 'tool_use',
      usage: { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 },
      costNanousd: 0,
    })
    expect(kindsOf(audit(sound))).toEqual(finding('invalid history'))
  })

  test('finds a gap in the log, and an event that cannot be read', () => {
    damage('delete from session_events where seq = 5')
    expect(kindsOf(audit(sound))).toEqual(finding('gap in the log'))
    damage("update session_events set data = '{' where seq = 6")
    expect(kindsOf(audit(sound))).toEqual(finding('damaged event'))
  })

  test('finds a snapshot that says other than the log', () => {
    damage("update session_events set data = replace(data, 'charged', 'charged!') where type = 'tool_finished'")
    expect(kindsOf(audit(sound))).toEqual(['false snapshot'])
    damage("update session_snapshots set data = data || ' '")
    expect(kindsOf(audit(sound))).toEqual(['damaged snapshot'])
  })

  test('finds broken references and broken pages', () => {
    damage("update inbox set user_id = 'nobody' where id = 'message-1'")
    expect(kindsOf(audit(sound))).toEqual(finding('broken reference'))
    const bytes = readFileSync(sound.databasePath)
    // The first pages hold the schema, without which nothing could be looked at.
    bytes.fill(0xff, 3 * 4096, bytes.length - 4096)
    writeFileSync(sound.databasePath, bytes)
    expect(kindsOf(audit(sound))).toEqual(finding('broken integrity'))
  })

  test('COST-2 finds an open reservation, a wrong sum and a call that is not in the ledger', () => {
    damage("update cost_ledger set state = 'reserved', cost_nanousd = null where id = '4'")
    expect(kindsOf(audit(sound))).toEqual(['open reservation', 'wrong total'])
    expect(kindsOf(audit({ ...sound, settled: false }))).toEqual(['wrong total'])
    damage("delete from cost_ledger where id = '4'")
    expect(kindsOf(audit(sound))).toEqual(['unwritten cost', 'wrong total'])
  })

  test('COST-2 finds a turn that called the model more often than rounds and crashes explain', () => {
    damage(
      `insert into cost_ledger select '5', user_id, session_id, 'turn-1', purpose, model, 'failed', at, 0, 0, 0, 0, 0, 0
         from cost_ledger where id = '1'`,
    )
    expect(kindsOf(audit({ ...sound, requests: 5 }))).toEqual(['needless call'])
    expect(audit({ ...sound, requests: 5, interruptions: [3] })).toEqual([])
    expect(kindsOf(audit({ ...sound, requests: 5, interruptions: [9] }))).toEqual(['needless call'])
    damage("update cost_ledger set state = 'settled' where id = '5'")
    expect(kindsOf(audit({ ...sound, requests: 5, interruptions: [3] }))).toEqual(['wrong ledger'])
  })

  test('takes a file that was never made, or never filled, for an empty one', () => {
    const empty = { ...sound, messages: [], sideEffects: [], requests: 0 }
    const databasePath = join(folder, 'nothing.db')
    expect(audit({ ...empty, databasePath })).toEqual([])
    writeFileSync(databasePath, '')
    expect(audit({ ...empty, databasePath })).toEqual([])
    expect(kindsOf(audit({ ...sound, databasePath }))).toEqual(finding('lost message'))
  })

  test('takes what waits in the file of a dead daemon for no loss', () => {
    damage(
      "update inbox set state = 'running' where id = 'message-2'",
      'delete from session_events where seq = 11',
      'update sessions set last_seq = 10',
      'delete from session_snapshots',
    )
    const messages = sound.messages.map(({ reply: _reply, ...message }) => message)
    expect(audit({ ...sound, messages, settled: false })).toEqual([])
    expect(kindsOf(audit({ ...sound, messages }))).toEqual(['lost message', 'unfinished turn'])
  })
})
