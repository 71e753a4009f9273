import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openChatHistory, readClipboardImage } from './chat-machine.ts'
import { wholeStep } from './daemon-partner.ts'

let directory: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'familiar-chat-'))
})

afterEach(() => rm(directory, { recursive: true }))

it('CHAN-2 keeps typed messages, newest first, each once, for its user only', async () => {
  const path = join(directory, 'terminal-history.jsonl')
  const [here, there] = [await openChatHistory(directory), await openChatHistory(directory)]
  expect(here.entries).toEqual([])
  for (const text of ['one', 'two\nlines', 'one', ' ', 'x'.repeat(20_000)]) await here.add(text)
  await there.add('from another terminal')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect((await openChatHistory(directory)).entries).toEqual(['from another terminal', 'one', 'two\nlines'])
  await writeFile(path, `not json\n{"a":1}\n"kept"\n${await readFile(path, 'utf8')}`)
  expect((await openChatHistory(directory)).entries).toEqual(['from another terminal', 'one', 'two\nlines', 'kept'])
})

it('CHAN-2 takes an image from the clipboard by whichever program is there, and nothing else', async () => {
  const clipboard = (env: Record<string, string>) => readClipboardImage({ env, maxBytes: 1_000 })
  const program = async (name: string, script: string) => {
    await writeFile(join(directory, name), `#!/bin/sh\n${script}\n`)
    await chmod(join(directory, name), 0o700)
  }
  expect(await clipboard({ PATH: directory })).toBeUndefined()
  await program('wl-paste', 'exit 1')
  await program('xclip', "printf '\\211PNG\\r\\n\\032\\nrest'")
  expect((await clipboard({ PATH: directory }))?.toString('latin1')).toBe('\u0089PNG\r\n\u001a\nrest')
  await program('xclip', 'echo only text')
  expect(await clipboard({ PATH: directory })).toBeUndefined()
})

it('HTTP-4 continues after a restart from the last complete step', () => {
  const cursors = ['12', '12.40', '12.40.2', '12.0.2', '0']
  expect(cursors.map(wholeStep)).toEqual(['12', '12', '12', '12.0.2', '0'])
})
