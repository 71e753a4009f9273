import { describe, expect, test } from 'vitest'
import { openIn, temporaryDirectory } from '../../test/contract/storage-support.ts'
import { reusableQuery } from './database.ts'

const insertUser = reusableQuery((database, user: { id: string; name: string }) =>
  database.insertInto('users').values({ id: user.id, name: user.name, role: 'user', created_at: 1 }),
)
const selectUser = reusableQuery((database, user: { id: string }) =>
  database.selectFrom('users').select(['name', 'role']).where('id', '=', user.id),
)

describe('reusable queries', () => {
  test('STORE-1 run with the values of each call, keep constants, in a unit and as a read', async () => {
    using directory = temporaryDirectory()
    const database = await openIn(directory.path)
    await database.write(async (writer) => {
      await insertUser(writer, { id: 'a', name: 'Anna' })
      await insertUser(writer, { id: 'b', name: "Ben'; drop table users; --" })
    })
    expect((await selectUser(database.read, { id: 'a' })).rows).toEqual([{ name: 'Anna', role: 'user' }])
    expect((await selectUser(database.read, { id: 'b' })).rows).toEqual([
      { name: "Ben'; drop table users; --", role: 'user' },
    ])
    expect((await selectUser(database.read, { id: 'c' })).rows).toEqual([])
    await database.close()
  })
})
