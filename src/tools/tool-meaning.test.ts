import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MemoryStore, openMemoryStore } from '../../test/support/memory-store.ts'
import { toolOf } from '../../test/support/scripted-familiar.ts'
import { silentLogger } from '../base/logger.ts'
import { createEmbedder, type Embedder, toUnitVector } from '../memory/embedding/embedders.ts'
import { localModelFolder, modelFiles } from '../memory/embedding/local-embedder.ts'
import { createToolMeaning, rankTools } from './registry.ts'
import type { Tool } from './tool.ts'

const hasModel = Object.values(modelFiles).every((file) => existsSync(join(localModelFolder, file)))
const never = new AbortController().signal

function described(name: string, description: string, documentation?: string): Tool {
  const tool = toolOf(name, async () => ({ text: '', isError: false }), { core: false })
  return { ...tool, definition: { ...tool.definition, description }, ...(documentation && { documentation }) }
}

/** Texts about the sky point one way, texts about food another; it counts its calls. */
function skyAndFood(model = 'sky-and-food') {
  const embedded: string[] = []
  const embedder: Embedder = {
    model,
    dimensions: 2,
    async embed(texts) {
      embedded.push(...texts)
      return texts.map((text) =>
        toUnitVector([/rain|sun|umbrella/i.test(text) ? 1 : 0, /\b(cook|eat|meal)\b/i.test(text) ? 1 : 0]),
      )
    },
    close: async () => {},
  }
  return { embedder, embedded }
}

const weather = described('weather', 'Tells of rain and sun.')
const recipes = described('recipes', 'What to cook.')
const vague = described('vague', 'Does things.', 'Finds a meal for tonight.')

describe('the meaning of tools', () => {
  let store: MemoryStore
  beforeEach(async () => {
    store = await openMemoryStore()
  })
  afterEach(() => store.close())

  it('TOOL-10 finds a tool by meaning without a common word', async () => {
    const meaning = createToolMeaning({ ...store, embedder: skyAndFood().embedder, logger: silentLogger })
    const tools = [recipes, weather, vague]
    const closeness = await meaning(tools, 'Do I need an umbrella?', never)
    expect([...closeness]).toEqual([
      ['recipes', 0],
      ['weather', 1],
      ['vague', 0],
    ])
    const ranked = rankTools(tools, 'Do I need an umbrella?', { experience: new Map(), closeness })
    expect(ranked).toEqual([weather])
    expect(rankTools(tools, 'Do I need an umbrella?', { experience: new Map(), closeness: new Map() })).toEqual([])
    expect((await meaning(tools, 'something to eat', never)).get('vague')).toBe(1)
  })

  it("TOOL-10 stores the vectors, and recomputes one only when the tool's description changes", async () => {
    const first = skyAndFood()
    await createToolMeaning({ ...store, embedder: first.embedder, logger: silentLogger })(
      [weather, recipes],
      'sun',
      never,
    )
    expect(first.embedded.toSorted()).toEqual(['recipes: What to cook.', 'sun', 'weather: Tells of rain and sun.'])
    const second = skyAndFood()
    const meaning = createToolMeaning({ ...store, embedder: second.embedder, logger: silentLogger })
    await meaning([weather, recipes], 'sun', never)
    expect(second.embedded).toEqual(['sun'])
    const changed = described('recipes', 'What to eat.')
    expect((await meaning([weather, changed], 'sun', never)).size).toBe(2)
    expect(second.embedded.filter((text) => text !== 'sun')).toEqual(['recipes: What to eat.'])
  })

  it('TOOL-10 deletes vectors of removed tools and other models', async () => {
    await createToolMeaning({ ...store, embedder: skyAndFood('old').embedder, logger: silentLogger })(
      [weather],
      'sun',
      never,
    )
    const meaning = createToolMeaning({ ...store, embedder: skyAndFood().embedder, logger: silentLogger })
    await meaning([weather, recipes], 'sun', never)
    await meaning([weather, vague], 'sun', never)
    const rows = await store.database.read
      .selectFrom('tool_vectors')
      .select(['tool', 'model'])
      .orderBy('tool')
      .execute()
    expect(rows).toEqual([
      { tool: 'vague', model: 'sky-and-food' },
      { tool: 'weather', model: 'sky-and-food' },
    ])
  })

  it('TOOL-10 uses words alone if nothing can be embedded', async () => {
    const broken: Embedder = { ...skyAndFood().embedder, embed: () => Promise.reject(new Error('no model')) }
    const meaning = createToolMeaning({ ...store, embedder: broken, logger: silentLogger })
    expect(await meaning([weather], 'sun', never)).toEqual(new Map())
    expect(rankTools([weather], 'rain', { experience: new Map(), closeness: new Map() })).toEqual([weather])
  })

  it.skipIf(!hasModel)('TOOL-10 with the local model, unrelated tools stay below the threshold', async () => {
    const embedder = createEmbedder(
      { provider: 'local' },
      { modelFolder: localModelFolder, clock: store.clock, random: Math.random },
    )
    if (!embedder) throw new Error('no embedder')
    const tools = [
      described('weather', 'Current conditions and forecast for a place: temperature, rain, wind.'),
      described('loan', 'Monthly payment and total interest of a loan.'),
      described('recipes', 'Search for recipes by meal, ingredient or cuisine.'),
    ]
    const meaning = createToolMeaning({ ...store, embedder, logger: silentLogger })
    const first = async (query: string) => {
      const closeness = await meaning(tools, query, AbortSignal.timeout(20_000))
      return rankTools(tools, query, { experience: new Map(), closeness })[0]?.definition.name
    }
    expect(await first('do I need an umbrella tomorrow')).toBe('weather')
    expect(await first('what will my mortgage cost')).toBe('loan')
    expect(await first('what can I make for dinner')).toBe('recipes')
    expect((await meaning(tools, 'who won the world cup', never)).get('loan')).toBe(0)
    await embedder.close()
  })
})
