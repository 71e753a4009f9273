import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createManualBackend } from '../../examples/asset-backend/create-manual-backend.ts'
import type { Assets } from '../../src/tools/files/open-assets.ts'
import { type AssetStore, agentOfMax, max, openAssetStore, textOf } from '../support/asset-store.ts'

type Operation = (assets: Assets, path: string) => Promise<unknown>

const agent = agentOfMax()
const others = agentOfMax('untrusted')
const read =
  (page: object = {}): Operation =>
  (assets, path) =>
    assets.read(agent, { path, ...page })
const write =
  (content: string, more: object = {}): Operation =>
  (assets, path) =>
    assets.write(agent, { path, content, ...more })
const edit =
  (old: string, replacement: string, more: object = {}): Operation =>
  (assets, path) =>
    assets.edit(agent, { path, old, new: replacement, ...more })
const undo =
  (more: object = {}): Operation =>
  (assets, path) =>
    assets.undo(agent, { path, ...more })
const history: Operation = (assets, path) => assets.history(agent, { path })
const stat: Operation = (assets, path) => assets.stat(agent, { path })
const lines = (count: number) => Array.from({ length: count }, (_, line) => `line ${line + 1}`).join('\n')

const script: [name: string, operation: Operation][] = [
  ['reads what is not there', read()],
  ['edits what is not there', edit('a', 'b')],
  ['asks for the history of what is not there', history],
  ['looks at what is not there', stat],
  ['undoes what never was', undo()],
  ['writes over an etag where nothing is', write('x', { etag: 'b'.repeat(32) })],
  ['writes something new', write('One cup of tea.\nOne cup of coffee.\n')],
  ['reads it', read()],
  ['looks at it', stat],
  ['writes the same again', write('One cup of tea.\nOne cup of coffee.\n')],
  ['edits one passage', edit('tea', 'milk')],
  ['edits what is absent', edit('tea', 'milk')],
  ['edits what is ambiguous', edit('cup', 'mug')],
  ['edits it everywhere', edit('cup', 'mug', { all: true })],
  ['edits by nothing', edit('One mug of milk.\n', '')],
  ['edits nothing', edit('', 'x')],
  ['edits by the same', edit('mug', 'mug')],
  ['misses by a line end', edit('coffee.\r\n', 'x')],
  ['misses by white space', edit('One  mug', 'x')],
  ['reads what is left', read()],
  ['undoes the edit', undo()],
  ['undoes the undo', undo()],
  ['goes back to the first', undo({ version: 1 })],
  ['goes back to what never was', undo({ version: 99 })],
  ['has a history', history],
  ['writes where nothing may be', write('x', { etag: null })],
  ['writes over another etag', write('x', { etag: 'a'.repeat(32) })],
  ['edits over another etag', edit('cup', 'x', { all: true, etag: 'a'.repeat(32) })],
  ['undoes over another etag', undo({ etag: 'a'.repeat(32) })],
  ['writes nothing at all', write('')],
  ['reads what is empty', read()],
  ['reads on in what is empty', read({ offset: 7 })],
  ['edits what is empty', edit('a', 'b')],
  ['undoes to what was full', undo()],
  ['writes many lines', write(lines(5_000))],
  ['reads the first of them', read()],
  ['reads on', read({ offset: 2_001 })],
  ['reads one in the middle', read({ offset: 4_000, limit: 1 })],
  ['reads the last', read({ offset: 5_000 })],
  ['reads past the end', read({ offset: 5_001 })],
  ['edits one line of many', edit('line 4321\n', 'the one\n')],
  ['edits what many lines hold', edit('line 1', 'x')],
  ['writes one huge line', write('x'.repeat(120_000))],
  ['reads the beginning of it', read()],
  ['writes long lines', write(Array.from({ length: 40 }, () => 'y'.repeat(2_000)).join('\n'))],
  ['reads as many as fit', read()],
  ['writes what is too large', write('z'.repeat(2_000_001))],
  ['grows by an edit to what is too large', edit('y', 'y'.repeat(30), { all: true })],
  ['writes what is binary', write('PNG\u0000\u0001')],
  ['edits it to what is binary', edit('y'.repeat(2_000), '\u0000', { all: true })],
  ['writes half a character', write('a\ud800b')],
  ['reads it well formed', read()],
  ['writes letters of the world', write('Zoë 東京 🍵 e\u0301 \u202eabc\n\ufeffmark\r\nend')],
  ['reads them', read()],
  ['edits among them', edit('東京 🍵', '大阪 🫖')],
  ['edits by form: the composed one is another', edit('\u00e9', 'e')],
  ['finds no half of a character', edit('\ud83e', 'x')],
  ['writes words of others', (assets, path) => assets.write(others, { path, content: 'Do as I say.\nThanks.\n' })],
  ['edits what others wrote: it stays theirs', edit('Thanks', 'Bye')],
  ['reads whose it is', read()],
  ['is taken over by the user', (assets, path) => assets.write(max, { path, content: 'Do as I say.\nBye.\n' })],
  ['reads that it is theirs', read()],
  ['is taken back to where it was not there', undo({ version: 0 })],
  ['reads what is gone', read()],
  ['comes back', undo()],
  ['has it all in its history', history],
]

describe('one interface, several stores', () => {
  let store: AssetStore
  beforeAll(async () => {
    store = await openAssetStore({ others: [createManualBackend(new Map([['start', 'Begin.\nGo on.\n']]))] })
  })
  afterAll(() => store.close())

  it('ASSET-1 the same operations on a file and on a block: results equal but for the path', async () => {
    expect(script.length).toBeGreaterThanOrEqual(60)
    const uris = { file: `file://${store.workspace}/notes/x.md`, block: 'familiar:///blocks/notes/x.md' }
    const run = async (path: string, uri: string) => {
      const told: Record<string, unknown> = {}
      for (const [name, operation] of script) {
        const outcome = JSON.stringify(await operation(store.assets, path), withoutTimes)
        told[name] = JSON.parse(outcome.replaceAll(uri, 'PATH').replaceAll(path, 'PATH'))
      }
      return told
    }
    const file = await run('notes/x.md', uris.file)
    const block = await run('familiar:///blocks/notes/x.md', uris.block)
    expect(block).toEqual(file)
    expect(codesOf(file)).toEqual([
      ...['not_found', 'not_found', 'not_found', 'not_found', 'no_version', 'conflict', 'absent', 'ambiguous'],
      ...['empty_old', 'same', 'absent', 'absent', 'no_version', 'conflict', 'conflict', 'conflict', 'conflict'],
      ...['absent', 'past_end', 'ambiguous', 'too_large', 'too_large', 'binary', 'binary', 'absent', 'absent'],
      'not_found',
    ])
    expect(file['edits what is ambiguous']).toMatchObject({ count: 2, message: expect.stringContaining('2 times') })
    expect(file['reads it']).toMatchObject({ text: 'One cup of tea.\nOne cup of coffee.\n', lines: 2, note: null })
    expect(file['reads the first of them']).toMatchObject({
      lastLine: 2_000,
      lines: 5_000,
      note: '[3000 more lines: continue with offset 2001]',
    })
    expect(file['reads whose it is']).toMatchObject({ trust: 'untrusted' })
    expect(file['reads that it is theirs']).toMatchObject({ trust: 'owner' })
    expect(file['comes back']).toMatchObject({ isNew: true, isChanged: true })
  })

  it('ASSET-1 lists under a folder alike', async () => {
    const { assets } = store
    for (const path of ['list/b.md', 'list/a/c.md', 'list/a.md']) {
      await assets.write(agent, { path, content: path })
      await assets.write(agent, { path: `familiar:///blocks/${path}`, content: path })
    }
    const listed = async (prefix: string) => {
      const found = await assets.list(agent, { prefix })
      return found.ok
        ? found.entries.map(({ path, bytes }) => [path.replace('familiar:///blocks/', ''), bytes])
        : found.code
    }
    expect(await listed('list')).toEqual([
      ['list/a.md', 9],
      ['list/a/c.md', 11],
      ['list/b.md', 9],
    ])
    for (const prefix of ['list', 'list/a', 'list/b.md', 'nothing']) {
      expect(await listed(`familiar:///blocks/${prefix}`)).toEqual(await listed(prefix))
    }
  })

  it('ASSET-1 a third backend is one file: it is read by lines and refuses to be written', async () => {
    const { assets } = store
    expect(await assets.read(agent, { path: 'manual://start', offset: 2 })).toMatchObject({
      ok: true,
      text: 'Go on.\n',
    })
    expect(await assets.read(agent, { path: 'manual://end' })).toMatchObject({ code: 'not_found' })
    expect(await assets.write(agent, { path: 'manual://start', content: 'x' })).toMatchObject({ code: 'read_only' })
    expect(await assets.edit(agent, { path: 'manual:///start', old: 'Go', new: 'x' })).toMatchObject({
      code: 'read_only',
    })
    expect(await assets.read(agent, { path: 'nowhere://start' })).toMatchObject({ code: 'unknown_scheme' })
  })

  it('ASSET-3 a block may not have what a file may have if it exceeds the budget', async () => {
    const content = textOf(101_000)
    expect(await store.assets.write(agent, { path: 'big.md', content })).toMatchObject({ ok: true })
    expect(await store.assets.write(agent, { path: 'familiar://big', content })).toMatchObject({ code: 'budget' })
  })
})

/** A file's are the disk's, a block's the clock's. */
function withoutTimes(key: string, value: unknown): unknown {
  return key === 'modifiedAt' || key === 'at' ? undefined : value
}

function codesOf(told: Record<string, unknown>): string[] {
  return Object.values(told).flatMap((outcome) => (outcome as { code?: string }).code ?? [])
}
