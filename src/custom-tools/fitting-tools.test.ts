import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type MemoryStore, openMemoryStore } from '../../test/support/memory-store.ts'
import heldOut from '../../test/support/tool-choice/held-out.json' with { type: 'json' }
import questions from '../../test/support/tool-choice/questions.json' with { type: 'json' }
import manifests from '../../test/support/tool-choice/tools.json' with { type: 'json' }
import { silentLogger } from '../base/logger.ts'
import { estimateTokens } from '../base/tokens.ts'
import { cachedQuestions, createEmbedder, type Embedder } from '../memory/embedding/embedders.ts'
import { localModelFolder, modelFiles } from '../memory/embedding/local-embedder.ts'
import { contractSource, createToolMeaning, createToolRegistry } from '../tools/registry.ts'
import { defineTool, succeeded, type Tool } from '../tools/tool.ts'
import everyday from './everyday-messages.json' with { type: 'json' }
import type { ToolWeights } from './find-tools.ts'
import { createFittingTools } from './fitting-tools.ts'

const hasModel = Object.values(modelFiles).every((file) => existsSync(join(localModelFolder, file)))
const signal = new AbortController().signal

let store: MemoryStore
beforeEach(async () => {
  store = await openMemoryStore()
})
afterEach(() => store.close())

function tool(name: string, description: string, documentation = '', more: Partial<Tool> = {}): Tool {
  const input = z.object({ place: z.string(), days: z.int().optional() })
  const run = async () => succeeded(name)
  return { ...defineTool({ name, description, input, effect: 'idempotent', run }), documentation, ...more }
}

const installed = manifests.map(([name = '', description = '', , documentation]) =>
  tool(name, description, documentation),
)

function opened(tools: readonly Tool[], { embedder, weights }: { embedder?: Embedder; weights?: ToolWeights } = {}) {
  const registry = createToolRegistry()
  registry.replace(contractSource, tools)
  const fitting = createFittingTools({
    registry,
    weights: weights ?? (async () => new Map()),
    meaning: embedder && createToolMeaning({ database: store.database, embedder, logger: silentLogger }),
    embedder,
    capabilities: { search: async () => [] },
    logger: silentLogger,
    waitMs: 60_000,
  })
  const ask = (text: string, offered: readonly string[] = []) => fitting({ userId: 'max', text, offered, signal })
  return { registry, ask }
}

const namesIn = (lines: readonly string[]) => lines.slice(1).map((line) => /^- (\w+)\(/.exec(line)?.[1] ?? line)

async function measure(embedder?: Embedder, { asked, smallTalk } = questions) {
  const { ask } = opened(installed, embedder ? { embedder } : {})
  let right = 0
  let silent = 0
  let lines = 0
  let tokens = 0
  for (const [question = '', wanted = ''] of asked) {
    const named = await ask(question)
    if (namesIn(named).includes(wanted)) right += 1
    lines += named.length && named.length - 1
    tokens += estimateTokens(named.join('\n'))
  }
  for (const message of smallTalk) if ((await ask(message)).length === 0) silent += 1
  return { right, silent, toolsPerQuestion: lines / asked.length, tokensPerQuestion: tokens / asked.length }
}

describe('the tools that fit a message', () => {
  it('TOOL-10a the data: 200 tools, 100 questions and 100 small talk, none of them among the messages that chose the numbers', () => {
    const names = new Set(manifests.map(([name]) => name))
    const used = [...everyday.requests, ...everyday.talk].map((text) => text.toLowerCase())
    const asked = questions.asked.map(([question = '']) => question)
    expect([names.size, new Set(asked).size, new Set(questions.smallTalk).size]).toEqual([200, 100, 100])
    expect(questions.asked.filter(([, wanted = '']) => !names.has(wanted))).toEqual([])
    expect([...asked, ...questions.smallTalk].filter((text) => used.includes(text.toLowerCase()))).toEqual([])
  })

  it.skipIf(!hasModel)(
    'TOOL-10a of 200 tools the right one is named for 85 of 100 questions, none for 90 of 100 small talk',
    async () => {
      const made = createEmbedder(
        { provider: 'local' },
        { modelFolder: localModelFolder, clock: store.clock, random: Math.random },
      )
      if (!made) throw new Error('no embedder')
      const figures = await measure(cachedQuestions(made))
      console.log('with meaning', JSON.stringify(figures))
      await made.close()
      expect(figures.right).toBeGreaterThanOrEqual(85)
      expect(figures.silent).toBeGreaterThanOrEqual(90)
      expect(figures.toolsPerQuestion).toBeLessThanOrEqual(3)
    },
    180_000,
  )

  it.skipIf(!hasModel)(
    'TOOL-10a a second list, written before it was measured, is held to nearly the same',
    async () => {
      const made = createEmbedder(
        { provider: 'local' },
        { modelFolder: localModelFolder, clock: store.clock, random: Math.random },
      )
      if (!made) throw new Error('no embedder')
      const figures = await measure(cachedQuestions(made), heldOut)
      console.log('held out, of 60 and 60', JSON.stringify(figures))
      await made.close()
      expect([heldOut.asked.length, heldOut.smallTalk.length]).toEqual([60, 60])
      expect(figures.right).toBeGreaterThanOrEqual(51)
      expect(figures.silent).toBeGreaterThanOrEqual(51)
    },
    180_000,
  )

  it('TOOL-10a by words alone it names fewer, and is as quiet', async () => {
    const figures = await measure()
    console.log('words only', JSON.stringify(figures))
    expect(figures.right).toBeGreaterThanOrEqual(35)
    expect(figures.silent).toBeGreaterThanOrEqual(90)
  })

  it('TOOL-10a names at most three in a line each, with their parameters, and none whose schema the model has', async () => {
    const tools = ['quokka_here', 'quokka_there', 'quokka_map', 'quokka_past'].map((name) =>
      tool(name, `Quokka and wombat pictures.\n${'Long. '.repeat(20)}`),
    )
    const { ask } = opened([...installed, ...tools])
    const lines = await ask('any quokka or wombat?')
    expect(lines).toHaveLength(4)
    expect(lines[0]).toBe('Tools that fit this message; call one by its name:')
    expect(lines[1]).toMatch(/^- quokka_\w+\(place, days\?\): Quokka and wombat pictures\. Long\. .{20,70}…$/)
    expect(lines.every((line) => line.length <= 110)).toBe(true)
    expect(namesIn(await ask('any quokka or wombat?', ['quokka_here', 'quokka_there']))).toEqual([
      'quokka_map',
      'quokka_past',
    ])
    expect(await ask('')).toEqual([])
  })

  it('TOOL-10a aliases, documentation and tips count, core tools are left out, and success decides between equals', async () => {
    const tools = [
      tool('alpha', 'Does things.', 'Tips: advice for wellies and galoshes.'),
      tool('beta', 'Other things.', '', { aliases: ['zeppelin_rides'] }),
      tool('gamma', 'Wellies galoshes wellies galoshes.', '', { core: true }),
      tool('one_quokka', 'Quokka pictures.'),
      tool('two_quokka', 'Quokka pictures.'),
    ]
    const weights: ToolWeights = async () => new Map([['two_quokka', 1]])
    const { ask, registry } = opened([...installed, ...tools], { weights })
    expect(namesIn(await ask('wellies or galoshes?'))).toEqual(['alpha'])
    expect(namesIn(await ask('zeppelin rides'))).toEqual(['beta'])
    expect(namesIn(await ask('quokka pictures'))).toEqual(['two_quokka', 'one_quokka'])
    registry.replace(contractSource, [])
    expect(await ask('quokka pictures')).toEqual([])
  })

  it('TOOL-10a with built-in tools alone the embedding model is not asked', async () => {
    let asked = 0
    const embedder: Embedder = {
      model: 'counting',
      dimensions: 2,
      async embed(texts) {
        asked += texts.length
        return texts.map(() => new Float32Array([1, 0]))
      },
      close: async () => {},
    }
    const { ask, registry } = opened([], { embedder })
    registry.add(tool('draw_chart', 'Draws a chart of numbers.'))
    expect(namesIn(await ask('Please draw a chart of these numbers'))).toEqual(['draw_chart'])
    expect(asked).toBe(0)
    registry.replace(contractSource, [tool('quokka', 'Pictures.')])
    await ask('Please draw a chart of these numbers')
    expect(asked).toBeGreaterThan(0)
  })

  it('TOOL-10a a model that fails or is slow leaves it to the words', async () => {
    const embedder: Embedder = {
      model: 'broken',
      dimensions: 2,
      embed: () => Promise.reject(new Error('down')),
      close: async () => {},
    }
    expect(namesIn(await opened([tool('quokka_photo', 'Quokka photo.')], { embedder }).ask('a quokka photo'))).toEqual([
      'quokka_photo',
    ])
  })
})
