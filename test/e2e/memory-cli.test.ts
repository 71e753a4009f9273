import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type {
  AddedMemoryReply,
  CommitmentsReply,
  FactsReply,
  MemoryDetailReply,
  MemorySearchReply,
  RootsReply,
} from '../../src/protocol/memory.ts'
import {
  asInDefaultHome,
  type CommandOptions,
  canOpenTerminal,
  cleanUp,
  familiar,
  familiarJson,
  newHome,
  serveFamiliar,
  startAtTerminal,
  temporaryDirectory,
} from './cli-process.ts'

afterAll(cleanUp)

/** Nothing here is about meaning: no process has to load a model for it. */
function quietHome(): string {
  const home = newHome()
  mkdirSync(home, { recursive: true, mode: 0o700 })
  writeFileSync(join(home, 'familiar.toml'), '[memory.embedding]\nprovider = "off"\n', { mode: 0o600 })
  return home
}

const memory = (options: CommandOptions, ...args: string[]) => asInDefaultHome(familiar(['memory', ...args], options))
async function memoryJson<T>(options: CommandOptions, ...args: string[]): Promise<T> {
  return (await familiarJson(['memory', ...args], options)) as T
}

describe('memory without a daemon', () => {
  it('CLI-1 adds from standard input, finds with reasons, and says what is wrong and what to do', async () => {
    const options = { home: quietHome() }
    const added = await memory(
      { ...options, input: 'The spare key is with Ruth\n' },
      'add',
      '-',
      '--title',
      'Spare key',
    )
    const [, id = ''] = /^Saved: memory:(\S+)\n$/.exec(added.stdout) ?? []
    expect(added).toMatchObject({ code: 0, stderr: '' })
    const found = await memory(options, 'search', 'Where', 'is the spare key?', '--explain')
    expect(found.stdout).toMatch(/^1\. \d{4}-\d\d-\d\d note {2}Spare key: The spare key is with Ruth\n {3}memory:/)
    expect(found.stdout).toMatch(
      /why: words 1\.00 \(rank 1\) adds [\d.]+.*\n {3}strength: 0\.\d+\n {3}from: you wrote it, /,
    )
    const wrong = await memory(options, 'add', '--fact', 'Anna')
    expect(wrong).toMatchObject({ code: 2, stdout: '' })
    expect(wrong.stderr).toBe(
      'Error: Expected 3 words for a fact, got 1.\nExample: familiar memory add --fact Anna birthday "3 May"\n',
    )
    const missing = await memory(options, 'show', 'nothing', '--json')
    expect(missing.code).toBe(1)
    expect(JSON.parse(missing.stdout)).toMatchObject({ code: 'not_found', error: 'There is no memory "nothing"' })
    expect(id).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('memory with a daemon', () => {
  const options = { home: quietHome() }
  beforeAll(() => serveFamiliar(options))

  it('MEM-14 exports to a file that is whole, and imports it elsewhere once', async () => {
    const list = '- The ladder is behind the shed\n- Anna plays the cello\n'
    const first = await memory({ ...options, input: list }, 'import', '-', '--mine')
    expect(first).toMatchObject({ code: 0, stdout: '2 memories, 0 edges, 0 names added; 0 already known.\n' })
    const file = join(temporaryDirectory(), 'memories.jsonl')
    expect((await memory(options, 'export', file)).stdout).toMatch(/memories\.jsonl: \d+ bytes\. In again: /)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readFileSync(file, 'utf8').trimEnd().split('\n')).toHaveLength(3)
    expect((await memory(options, 'export', '--format', 'markdown')).stdout).toContain(' The ladder is behind the shed')
    writeFileSync(file, `${readFileSync(file, 'utf8')}{"type":"memory"}\n`)
    const elsewhere = { home: quietHome() }
    const imported = await memory(elsewhere, 'import', file)
    expect(imported).toMatchObject({ code: 1, stdout: '2 memories, 0 edges, 0 names added; 0 already known.\n' })
    expect(imported.stderr).toMatch(/^1 line could not be used:\n {2}line 4: /)
    expect(await memoryJson(elsewhere, 'import', file)).toMatchObject({ added: { memories: 0 }, known: 2 })
    const nowhere = await memory(elsewhere, 'import', '/no/such/file')
    expect(nowhere).toMatchObject({ code: 1, stderr: 'Error: Cannot read /no/such/file: there is no such file.\n' })
  })

  it('MEM-11 edits and forgets with --yes alone, says how to undo it, and undoes it', async () => {
    const added = await memoryJson<AddedMemoryReply>(options, 'add', 'The bicycle is in the cellar', '--tag', 'bicycle')
    const { id } = added.memory
    const edited = await memory(options, 'edit', id, '--content', 'The bicycle is in the shed', '--priority', '0.9')
    expect(edited.stdout).toMatch(/^Changed: The bicycle is in the shed\nTo undo: familiar memory undo \S+\n$/)
    const asked = await memory(options, 'forget', id)
    expect(asked).toMatchObject({ code: 2, stdout: '' })
    expect(asked.stderr).toContain('--yes')
    const forgotten = await memory(options, 'forget', id, '--yes')
    const [, change = ''] =
      /^Forgotten: .* shed\nTo undo \(30 days\): familiar memory undo (\S+)\n$/.exec(forgotten.stdout) ?? []
    expect((await memoryJson<MemorySearchReply>(options, 'search', 'bicycle')).results).toEqual([])
    expect((await memory(options, 'undo', change)).stdout).toBe('Known again: The bicycle is in the shed\n')
    expect((await memory(options, 'undo')).stdout).toBe('As it was: The bicycle is in the cellar\n')
    const shown = await memoryJson<MemoryDetailReply>(options, 'show', id)
    expect(shown.memory).toMatchObject({ content: 'The bicycle is in the cellar', priority: 0.8, tags: ['bicycle'] })
    expect(await memory(options, 'undo')).toMatchObject({ code: 1, stdout: '' })
  })

  it('MEM-11 forgets by words: lists the matches, and with --yes only a certain match', async () => {
    for (const text of ['The canoe is blue', 'The canoe paddle is in the attic']) await memory(options, 'add', text)
    const listed = await familiar(['forget', 'canoe', '--json'], options)
    expect(listed.code).toBe(1)
    const { forgotten, candidates } = JSON.parse(listed.stdout)
    expect(forgotten).toEqual([])
    expect(candidates.map(({ content }: { content: string }) => content).toSorted()).toEqual([
      'The canoe is blue',
      'The canoe paddle is in the attic',
    ])
    const several = await familiar(['forget', 'canoe', '--yes'], options)
    expect(several.code).toBe(1)
    expect(several.stderr).toContain('2 memories match. Nothing was forgotten.')
    expect((await familiar(['forget', 'canoe'], options)).stderr).toMatch(
      /1\. .*canoe[\s\S]*2\. .*canoe[\s\S]*Not a terminal: give an id/,
    )
    expect((await familiar(['forget', 'the', 'canoe', 'is', 'blue', '--yes'], options)).stdout).toMatch(
      /^Forgotten: The canoe is blue\n/,
    )
    expect((await familiar(['forget', 'paddle', '--yes'], options)).stdout).toMatch(/^Forgotten: The canoe paddle/)
    expect((await familiar(['forget', 'zeppelin', '--yes'], options)).stderr).toContain('Nothing was forgotten.')
  })

  it('MEM-14 treats a file as notes of its owner by default, and refuses files that are not a list of notes', async () => {
    const folder = temporaryDirectory()
    const file = join(folder, 'notes.md')
    const labelOf = async (words: string) =>
      (await memoryJson<MemorySearchReply>(options, 'search', words)).results[0]?.memory.label
    writeFileSync(file, '- The gondola is in Venice\n')
    await memory(options, 'import', file)
    expect(await labelOf('gondola')).toBe('owner')
    writeFileSync(file, '- The zither is out of tune\n')
    await memory(options, 'import', file, '--not-mine')
    expect(await labelOf('zither')).toBe('untrusted')
    const export1 = [{ title: 'Quokka', create_time: 1, mapping: { a: { message: null } }, current_node: 'a' }]
    const export2 = [{ uuid: '1', name: 'Quokka', chat_messages: [{ text: 'Quokka' }] }]
    const refused: [string | Uint8Array, string][] = [
      [JSON.stringify(export1), 'an export of conversations from ChatGPT'],
      [JSON.stringify(export2, null, 2), 'an export of conversations from Claude'],
      [JSON.stringify({ quokka: [1, 2] }, null, 2), 'a JSON document'],
      [Uint8Array.of(0x50, 0x4b, 3, 4, 0, 0, 0, 81), 'not text'],
    ]
    for (const [content, reason] of refused) {
      writeFileSync(join(folder, 'conversations.json'), content)
      const imported = await memory(options, 'import', join(folder, 'conversations.json'))
      expect(imported).toMatchObject({ code: 2, stdout: '' })
      expect(imported.stderr).toContain(reason)
      expect(imported.stderr).toContain('Nothing was stored.')
    }
    expect((await memoryJson<MemorySearchReply>(options, 'search', 'Quokka')).results).toEqual([])
  })

  it('MEM-10 keeps facts, commitments and names', async () => {
    await memory(options, 'add', '--alias', 'Bea', 'Beatrice')
    await memory(options, 'add', '--fact', 'Bea', 'birthday', '3 May')
    const replaced = await memory(options, 'add', '--fact', 'Beatrice', 'birthday', '4 May')
    expect(replaced.stdout).toMatch(/^Saved: Beatrice: birthday is 4 May \(memory:\S+\)\nBefore: 3 May, since /)
    const facts = await memoryJson<FactsReply>(options, 'list', '--entity', 'bea', '--history', '--count')
    expect(facts.facts.map(({ value }) => value)).toEqual(['4 May', '3 May'])
    expect(facts.entities).toBe(1)
    const promise = ['add', '--commitment', 'send the photos', '--to', 'my sister', '--by', '2099-11-20']
    const [, id = ''] = /familiar memory done (\S+)/.exec((await memory(options, ...promise)).stdout) ?? []
    expect((await memory(options, 'done', id)).stdout).toBe('Done: send the photos\n')
    const kept = await memoryJson<CommitmentsReply>(options, 'list', '--kind', 'commitment')
    expect(kept.commitments).toMatchObject([{ id, state: 'done', to_whom: 'my sister' }])
  })

  it('MEM-12 draws the graph as a tree', async () => {
    const add = async (text: string) => (await memoryJson<AddedMemoryReply>(options, 'add', text)).memory.id
    const [one, two] = [await add('Ruth keeps the key'), await add('The key opens the shed')]
    await memory(options, 'graph', one, '--link', two, '--relation', 'explains')
    const { stdout } = await memory(options, 'graph', two)
    expect(stdout).toBe(
      `note  The key opens the shed  [memory:${two}]\n└─ ← explains note  Ruth keeps the key  [memory:${one}]\n`,
    )
  })

  it('MEM-14 "forget --everything about X" leaves no trace', async () => {
    await memory(options, 'add', 'Aunt Zenobia lives in Graz')
    const forgotten = await familiar(['forget', '--everything', 'about', 'Zenobia', '--yes'], options)
    expect(forgotten.stdout).toMatch(/^1 memory forgotten, and erased from 0 events of conversations\.\n/)
    expect((await memory(options, 'export')).stdout).not.toContain('Zenobia')
  })

  it.runIf(canOpenTerminal)('MEM-16 indexes with progress; Ctrl-C stops it, and what is done stays', async () => {
    const folder = temporaryDirectory()
    for (let number = 0; number < 1_500; number += 1) writeFileSync(join(folder, `${number}.md`), `Number ${number}\n`)
    const running = startAtTerminal(['memory', 'index', folder], options)
    await running.untilShows(/[\d,]+ of 1,500 files: /)
    running.child.stdin.write('\u0003')
    const stopped = await running.ended
    expect(stopped.code).toBe(130)
    expect(stopped.stdout).toContain('Stopped. The files indexed so far stay; run the command again to continue.')
    const { roots } = await memoryJson<RootsReply>(options, 'index', '--list')
    const files = roots.find(({ is_workspace }) => !is_workspace)?.files ?? 0
    expect(files).toBeGreaterThan(0)
    expect(files).toBeLessThan(1_500)
    expect((await memory(options, 'index', '--remove', folder)).code).toBe(0)
  })

  it.runIf(canOpenTerminal)('CLI-1 edits in $EDITOR on a terminal', async () => {
    const { memory: added } = await memoryJson<AddedMemoryReply>(options, 'add', 'The hammer is in the attic')
    const env = { EDITOR: 'sed -i s/attic/cellar/' }
    const edited = await startAtTerminal(['memory', 'edit', added.id], { ...options, env }).ended
    expect(edited.stdout).toContain('Changed: The hammer is in the cellar')
  })
})
