import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { asInDefaultHome, familiar, familiarJson } from './cli-process.ts'
import { serveHome } from './serve-home.ts'

describe('familiar file', () => {
  let home: string
  let close: () => Promise<void>
  beforeAll(async () => {
    ;({ home, close } = await serveHome({ assets: true, settings: { maxBodyBytes: 5_000_000 } }))
  })
  afterAll(() => close())

  const file = (...args: string[]) => asInDefaultHome(familiar(['file', ...args], { home }))

  it.each(['notes/x.md', 'familiar:///blocks/x.md'])('ASSET-1 writes, edits, reads and undoes %s', async (path) => {
    const undo = `To undo: familiar files undo "${path}"`
    expect(await file('write', path, '--content', 'One cup.\nTwo cups.\n')).toMatchObject({
      code: 0,
      stdout: `Wrote ${path} (new).\nVersion 1. ${undo}\n`,
    })
    expect((await file('read', path)).stdout).toBe('One cup.\nTwo cups.\n')
    expect((await file('read', path, '--offset', '2', '--limit', '1')).stdout).toBe('Two cups.\n')
    expect(await file('edit', path, '--old', 'cup', '--new', 'mug')).toMatchObject({
      code: 1,
      stderr: `Error: old occurs 2 times in ${path}. Give more of the surrounding text, or all: true.\n`,
    })
    expect((await file('edit', path, '--old', 'cup', '--new', 'mug', '--all')).stdout).toContain('in 2 places')
    expect((await file('undo', path)).stdout).toBe(`${path} is as it was in version 1.\nVersion 3. ${undo}\n`)
    expect(await familiarJson(['file', 'history', path], { home })).toMatchObject({
      versions: [{ version: 3, author: 'user' }, { version: 2 }, { version: 1 }, { version: 0, was_there: false }],
    })
    expect((await file('undo', path, '--to', '0')).stdout).toContain(`${path} is gone`)
    expect(await file('read', path)).toMatchObject({ code: 1, stderr: `Error: ${path} does not exist.\n` })
  })

  it('ASSET-1 takes the content from standard input, and prints a long one whole', async () => {
    const input = 'a line of the log, again and again\n'.repeat(5_000)
    expect((await familiar(['file', 'write', 'long.md', '--content', '-'], { home, input })).code).toBe(0)
    expect(readFileSync(join(home, 'workspace', 'long.md'), 'utf8')).toBe(input)
    expect((await file('read', 'long.md')).stdout).toBe(input)
    expect((await file('list')).stdout).toContain('long.md')
  })

  it('SEC-4 ASSET-2 the user can edit the prompt of the agent, but not the config', async () => {
    expect((await file('edit', 'SOUL.md', '--old', '\n', '--new', '\n\n', '--all')).code).toBe(0)
    writeFileSync(join(home, 'familiar.toml'), '')
    expect(await file('read', '../familiar.toml')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('outside'),
    })
    expect(await file('write', 'x.md')).toMatchObject({ code: 0 })
    expect((await file('edit', 'x.md')).code).toBe(2)
  })
})
