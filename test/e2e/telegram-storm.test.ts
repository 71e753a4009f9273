import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OutboxRow } from '../../src/storage/feature-tables.ts'
import { auditTelegram } from '../crash/audit/audit-telegram.ts'
import { readRecorded } from '../crash/audit/recorded.ts'
import { takesAll } from '../crash/chosen-passings.ts'
import { raiseStorm } from '../crash/telegram-storm.ts'

const updates = takesAll ? 10_000 : 1_500

describe('a storm over Telegram', () => {
  let storm: Awaited<ReturnType<typeof raiseStorm>>
  beforeAll(async () => {
    storm = await raiseStorm(updates)
    await storm.stop()
  }, 600_000)
  afterAll(() => rmSync(storm.home, { recursive: true, force: true }))

  function audit(path = storm.databasePath): string[] {
    const database = new DatabaseSync(path, { readOnly: true })
    const outbox = database.prepare('select * from outbox').all() as unknown as OutboxRow[]
    database.close()
    return auditTelegram(storm.evidence, { recorded: readRecorded(path), outbox })
  }

  it('CHAN-1 OUT-1 no message is lost or processed twice, and every item marked sent was sent', () => {
    expect(audit().slice(0, 20)).toEqual([])
  })

  it('CHAN-1 everything that was to go wrong did', () => {
    const kinds = [...storm.evidence.faults.values()].map((fault) =>
      fault.kind === 'refuse' ? fault.code : fault.kind,
    )
    expect(new Set(kinds)).toEqual(new Set([429, 500, 502, 400, 403, 'garbage', 'drop', 'cut']))
    expect(storm.evidence.said).toHaveLength(updates)
  })

  const damages: Record<string, string> = {
    'a message that is gone': `delete from inbox where rowid = (select max(rowid) from inbox)`,
    'a message that waits': `update inbox set state = 'queued' where rowid = (select max(rowid) from inbox)`,
    'a message twice': `insert into inbox select 'twice', user_id, session_id, key || ':2', body_hash, state, turn_id, received_at, data from inbox limit 1`,
    'what was heard is not in the log': `delete from session_events where type = 'message_received' and rowid = (select max(rowid) from session_events where type = 'message_received')`,
    'a turn twice': `insert into session_events (session_id, seq, turn_id, at, type, data) select session_id, seq + 100000, turn_id || 'b', at, type, data from session_events where type = 'turn_started' limit 1`,
    'a reply that is gone': `delete from outbox where rowid = (select max(rowid) from outbox where state = 'sent')`,
    'a reply that waits': `update outbox set state = 'pending' where rowid = (select max(rowid) from outbox where state = 'sent')`,
    'a reply called sent that was not': `update outbox set state = 'sent', external_id = '999999' where rowid = (select max(rowid) from outbox where state = 'failed')`,
    'one of unknown outcome that nobody repeated': `delete from outbox where repeats is not null`,
    'one that failed for what passes': `update outbox set state = 'failed', error = '500 Internal Server Error' where rowid = (select max(rowid) from outbox where state = 'sent')`,
    'replies out of order': `update outbox set id = case rowid when (select min(rowid) from outbox where address = '1001') then 'zzz' else id end`,
  }
  for (const [name, sql] of Object.entries(damages)) {
    it(`CHAN-1 the auditor sees ${name}`, () => {
      const path = join(storm.home, 'damaged.db')
      copyFileSync(storm.databasePath, path)
      const database = new DatabaseSync(path)
      database.exec('pragma foreign_keys = off; drop trigger if exists none;')
      database.exec(sql)
      database.close()
      expect(audit(path).length).toBeGreaterThan(0)
    })
  }
})
