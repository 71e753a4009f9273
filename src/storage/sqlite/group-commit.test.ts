import { DatabaseSync } from 'node:sqlite'
import { beforeEach, describe, expect, test } from 'vitest'
import { createSqliteConnection, type SqliteConnection } from './connection.ts'
import { createGroupCommit } from './group-commit.ts'

// The tables do not matter here, only which statements reach SQLite and when.
let statements: string[]
let connection: SqliteConnection

beforeEach(() => {
  const real = createSqliteConnection(new DatabaseSync(':memory:'), ':memory:')
  statements = []
  connection = {
    raw: real.raw,
    execute(query) {
      statements.push(query.sql.split(' ', 2).join(' '))
      return real.execute(query)
    },
  }
  real.raw.exec('create table users (id text primary key, name text, role text, created_at integer)')
})

function insert(group: ReturnType<typeof createGroupCommit>, id: string): Promise<unknown> {
  return group.write((writer) =>
    writer.insertInto('users').values({ id, name: id, role: 'user', created_at: 1 }).execute(),
  )
}

describe('statements', () => {
  test('STORE-2 one unit needs no savepoint', async () => {
    await insert(createGroupCommit({ connection }), '1')
    expect(statements).toEqual(['begin immediate', 'insert into', 'commit'])
  })

  test('STORE-2 units that wait together share one commit', async () => {
    const group = createGroupCommit({ connection })
    await Promise.all([insert(group, '1'), insert(group, '2'), insert(group, '3')])
    const guarded = ['savepoint unit', 'insert into', 'release unit']
    expect(statements).toEqual(['begin immediate', 'insert into', ...guarded, ...guarded, 'commit'])
  })

  test('STORE-2 units from different callbacks of one event loop turn share one commit', async () => {
    const group = createGroupCommit({ connection })
    await new Promise((resolve) => setTimeout(resolve, 5))
    const fromCallback = (id: string) => new Promise((resolve) => setTimeout(() => resolve(insert(group, id)), 1))
    await Promise.all([fromCallback('1'), fromCallback('2'), fromCallback('3')])
    expect(statements.filter((statement) => statement === 'commit')).toHaveLength(1)
  })

  test('STORE-2 a failed unit is undone alone: the first by a rollback, a later one to its savepoint', async () => {
    const group = createGroupCommit({ connection })
    await insert(group, 'taken')
    statements.length = 0
    const outcomes = await Promise.allSettled(['taken', '1', 'taken', '2'].map((id) => insert(group, id)))
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled'])
    expect(statements).toEqual([
      ...['begin immediate', 'insert into', 'rollback'],
      ...['begin immediate', 'insert into'],
      ...['savepoint unit', 'insert into', 'rollback to', 'release unit'],
      ...['savepoint unit', 'insert into', 'release unit'],
      'commit',
    ])
  })

  test('STORE-2 a commit contains a limited number of units', async () => {
    const group = createGroupCommit({ connection, unitsPerCommit: 10 })
    await Promise.all(Array.from({ length: 35 }, (_, index) => insert(group, String(index))))
    expect(statements.filter((statement) => statement === 'commit')).toHaveLength(4)
  })

  test('STORE-2 a unit starts before the call returns', async () => {
    const group = createGroupCommit({ connection })
    let started = false
    const unit = group.write(async () => {
      started = true
    })
    expect(started).toBe(true)
    await unit
  })
})

describe('when SQLite fails', () => {
  function failAt(statement: string, rollsBack: boolean): void {
    const { execute } = connection
    let failed = false
    connection.execute = (query) => {
      if (query.sql === statement && !failed) {
        failed = true
        if (rollsBack) execute({ sql: 'rollback', parameters: [] })
        throw new Error(`no ${statement}`)
      }
      return execute(query)
    }
  }

  test.each([true, false])(
    'STORE-1 a failed commit rejects all of its units (rolled back by itself: %s)',
    async (rollsBack) => {
      failAt('commit', rollsBack)
      const group = createGroupCommit({ connection })
      const outcomes = await Promise.allSettled([insert(group, '1'), insert(group, '2')])
      expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'rejected'])
      await insert(group, '3')
      expect(connection.raw.prepare('select id from users').all()).toEqual([{ id: '3' }])
    },
  )

  test('STORE-1 a failed begin rejects the waiting units, and the next unit is tried normally', async () => {
    failAt('begin immediate', false)
    const group = createGroupCommit({ connection })
    await expect(insert(group, '1')).rejects.toThrow('no begin')
    await insert(group, '2')
    expect(connection.raw.prepare('select id from users').all()).toEqual([{ id: '2' }])
  })

  test('STORE-1 when a failed unit loses the whole transaction, earlier units are rejected too', async () => {
    failAt('release unit', true)
    const group = createGroupCommit({ connection })
    const outcomes = await Promise.allSettled([insert(group, '1'), insert(group, '2'), insert(group, '3')])
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'rejected', 'fulfilled'])
    expect(connection.raw.prepare('select id from users').all()).toEqual([{ id: '3' }])
  })
})

describe('an exclusive task', () => {
  test('STORE-2 starts after earlier units are committed, and later ones wait', async () => {
    const group = createGroupCommit({ connection })
    const order: string[] = []
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    const before = insert(group, '1').then(() => order.push('before'))
    const alone = group.alone(async () => {
      order.push(connection.raw.isTransaction ? 'in a transaction' : 'alone')
      await held
      order.push('done')
      return 7
    })
    const after = insert(group, '2').then(() => order.push('after'))
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(order).toEqual(['alone', 'before'])
    letGo()
    expect(await alone).toBe(7)
    await Promise.all([before, after])
    expect(order).toEqual(['alone', 'before', 'done', 'after'])
  })

  test('STORE-2 fails alone, and closing waits for it', async () => {
    const group = createGroupCommit({ connection })
    const failed = group.alone(() => Promise.reject(new Error('no')))
    const after = insert(group, '1')
    const closed = group.close()
    await expect(failed).rejects.toThrow('no')
    await after
    await closed
    await expect(group.alone(async () => {})).rejects.toMatchObject({ code: 'unavailable' })
  })

  test('STORE-2 closing waits for a running one', async () => {
    const group = createGroupCommit({ connection })
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    let isDone = false
    const alone = group.alone(async () => {
      await held
      isDone = true
    })
    const closed = group.close()
    await new Promise((resolve) => setTimeout(resolve, 20))
    letGo()
    await closed
    expect(isDone).toBe(true)
    await alone
  })
})
