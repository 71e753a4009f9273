import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../base/clock.ts'
import { createTextFileCache } from '../base/text-file.ts'
import { createContext } from './context.ts'

let workspace: string

beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), 'familiar-workspace-'))
  for (const name of ['SOUL.md', 'AGENTS.md', 'MEMORY.md', 'HEARTBEAT.md'])
    writeFileSync(join(workspace, name), `I am ${name}`)
})

afterEach(() => rmSync(workspace, { recursive: true, force: true }))

const tiers = { full: ['MEMORY.md', 'SOUL.md', 'AGENTS.md', 'TOOLS.md'], operational: ['SOUL.md', 'HEARTBEAT.md'] }

function open() {
  return createContext({
    workspace,
    tiers: () => tiers,
    readTextFile: createTextFileCache(systemClock()),
    timeZone: 'UTC',
  })
}

const facts = { now: Date.UTC(2026, 10, 15, 9, 5), source: 'cli', recalled: [], pendingQuestion: null }

describe('CTX-1 blocks', () => {
  it('CTX-1 stable blocks come first, missing files are left out, the same files give the same bytes', () => {
    const context = open()
    const blocks = context.system('full')
    expect(blocks.map(({ name, tier }) => [name, tier])).toEqual([
      ['core', 'stable'],
      ['SOUL.md', 'stable'],
      ['AGENTS.md', 'stable'],
      ['MEMORY.md', 'semi_stable'],
    ])
    expect(open().system('full')).toEqual(blocks)
  })

  it('CTX-1 a changed file is read again', () => {
    const context = open()
    context.system('full')
    writeFileSync(join(workspace, 'SOUL.md'), 'I have changed completely')
    expect(JSON.stringify(context.system('full'))).toContain('I have changed completely')
  })

  it('CTX-1 recalled memories ride in the dynamic part within their budget', () => {
    const memories = Array.from({ length: 50 }, (_, n) => ({ id: `m${n}`, text: 'word '.repeat(100), at: facts.now }))
    const { text, included } = open().dynamic({ ...facts, recalled: memories })
    expect(included.length).toBeGreaterThan(5)
    expect(included.length).toBeLessThan(20)
    expect(text).toContain(`${50 - included.length} more did not fit`)
  })
})

describe('CTX-2 tiers', () => {
  it('CTX-2 operational brings fewer files, an unknown tier is an error', () => {
    expect(
      open()
        .system('operational')
        .map(({ name }) => name),
    ).toEqual(['core', 'SOUL.md', 'HEARTBEAT.md'])
    expect(() => open().system('everything')).toThrow('There is no context tier "everything"; known: full, operational')
  })
})

describe('CTX-3 source', () => {
  it('CTX-3 automated and HTTP messages are framed, others are not', () => {
    expect(open().dynamic({ ...facts, source: 'system' }).text).toContain('automated')
    expect(open().dynamic({ ...facts, source: 'http' }).text).toContain('HTTP')
    expect(open().dynamic(facts).text).toBe('<context>\nNow: Sunday, 15 November 2026 at 09:05 (UTC)\n</context>')
  })
})
