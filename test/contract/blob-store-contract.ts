import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { BlobStore } from '../../src/storage/blobs.ts'

/** The contract of every blob store, run against the real thing. */
export function describeBlobStore(
  name: string,
  open: () => Promise<{ store: BlobStore; close(): Promise<void> }>,
): void {
  describe(`blobs in ${name}`, () => {
    let store: BlobStore
    let close: () => Promise<void>
    beforeEach(async () => {
      const opened = await open()
      store = opened.store
      close = opened.close
    })
    afterEach(() => close())

    it('SCALE-5 a stored blob is there, byte by byte, also after storing it again', async () => {
      const all = Uint8Array.from({ length: 100_000 }, (_, index) => (index * 31) % 256)
      for (const [key, bytes] of [
        ['media/one', all],
        ['media/none', new Uint8Array()],
        ['capabilities/a/b/data/words.txt', Buffer.from('Wörter')],
        ['capabilities/a/b/data/words.txt', Buffer.from('Wörter')],
      ] as const) {
        await store.put(key, bytes)
        expect(Buffer.compare((await store.get(key)) ?? Buffer.from('?'), bytes)).toBe(0)
        expect(await store.has(key)).toBe(true)
      }
    })

    it('SCALE-5 a missing blob is undefined, and deleting it is not an error', async () => {
      expect(await store.get('media/nothing')).toBeUndefined()
      expect(await store.has('media/nothing')).toBe(false)
      await store.delete('media/nothing')
      await store.put('media/one', Buffer.from('1'))
      await store.delete('media/one')
      expect(await store.get('media/one')).toBeUndefined()
      expect(await store.has('media/one')).toBe(false)
    })

    it('SCALE-5 lists the names below a folder, completely', async () => {
      const names = ['a/1', 'a/2', 'a/b/3', 'a/b/c/4', 'ab/5', 'z']
      for (const key of names) await store.put(key, Buffer.from(key))
      const list = async (prefix: string) => (await Array.fromAsync(store.list(prefix))).sort()
      expect(await list('')).toEqual(names.toSorted())
      expect(await list('a/')).toEqual(['a/1', 'a/2', 'a/b/3', 'a/b/c/4'])
      expect(await list('a/b/')).toEqual(['a/b/3', 'a/b/c/4'])
      expect(await list('nowhere/')).toEqual([])
    })

    it('SEC-11 takes no name that leads out or hides', async () => {
      for (const key of [
        '..',
        '../x',
        '/etc/x',
        'a//b',
        'a/',
        '',
        '.hidden',
        'a/.b',
        'a\\b',
        'x\0',
        'ä',
        'a'.repeat(501),
      ]) {
        await expect(store.put(key, new Uint8Array()), key).rejects.toMatchObject({ code: 'bad_request' })
        await expect(store.get(key), key).rejects.toMatchObject({ code: 'bad_request' })
        await expect(store.delete(key), key).rejects.toMatchObject({ code: 'bad_request' })
      }
    })
  })
}
