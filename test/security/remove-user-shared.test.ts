import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { createDirectoryBlobs, folderOf } from '../../src/storage/blobs.ts'
import { greeterFiles } from '../support/served-capabilities.ts'
import { serveFamiliar } from './http-support.ts'

const root = mkdtempSync(join(tmpdir(), 'familiar-removed-'))
afterAll(() => rmSync(root, { recursive: true }))

it("SCALE-5 USERS-1 a removed user's files in the shared place are exported and deleted, and no one else’s", async () => {
  const store = createDirectoryBlobs({ directory: root })
  const shared = { media: folderOf(store, 'media'), capabilities: folderOf(store, 'capabilities') }
  const served = await serveFamiliar({ shared })
  try {
    const { user, made } = await served.users.add({ name: 'ben', scope: 'owner' })
    const attachments = [{ name: 'a.txt', media_type: 'text/plain', data: Buffer.from('of Ben').toString('base64') }]
    const body = { message: 'Look', attachments }
    expect((await served.call({ path: '/api/v1/chat', token: made.token, body })).status).toBe(200)
    // It is where all daemons see it, and not here.
    const home = join(served.familiar.home, 'media')
    const [hash = ''] = readdirSync(home)
    await shared.media.put('0'.repeat(64), Buffer.from('of somebody else'))
    renameSync(join(home, hash), join(root, 'media', hash))
    await served.capabilities.publish(user.id, greeterFiles())
    const rows = served.familiar.database.read.selectFrom('capabilities').select('id').where('user_id', '=', user.id)
    const { id } = await rows.executeTakeFirstOrThrow()
    for (const name of [`${id}/abc/main.py`, `${id}/abc/lock.json`, 'other/abc/main.py']) {
      await shared.capabilities.put(name, Buffer.from('x'))
    }

    const directory = join(root, 'exported')
    const call = { path: '/api/v1/local/users/ben/remove', body: { directory }, token: served.localToken }
    expect((await served.call(call)).status).toBe(200)
    expect(readFileSync(join(directory, 'media', hash), 'utf8')).toBe('of Ben')
    expect(await Array.fromAsync(shared.media.list(''))).toEqual(['0'.repeat(64)])
    expect(await Array.fromAsync(shared.capabilities.list(''))).toEqual(['other/abc/main.py'])
  } finally {
    await served.close()
  }
})
