import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type OpenCapabilityCatalog,
  openCapabilityCatalog,
  succeededRun,
} from '../../test/support/capability-catalog.ts'
import { silentLogger } from '../base/logger.ts'
import { type Embedder, toUnitVector } from '../memory/embedding/embedders.ts'
import { fromVectorBytes, toVectorBytes } from '../storage/database.ts'
import { createCapabilitySearch, createWordIndex, type OpenCapabilitySearch, type WordIndex } from './search.ts'
import { createVectorTable, packVectors, toCapabilityVectors, unpackVectors } from './tool-vectors.ts'

const signal = new AbortController().signal
/** Texts about the sky point one way, texts about food another; it counts what it is asked. */
function skyAndFood() {
  const embedded: string[] = []
  const state = { isBroken: false }
  const embedder: Embedder = {
    model: 'sky-and-food',
    dimensions: 3,
    async embed(texts) {
      if (state.isBroken) throw new Error('no model')
      embedded.push(...texts)
      return texts.map((text) =>
        toUnitVector([/rain|sun|umbrella/i.test(text) ? 1 : 0, /\b(cook|eat|meal)/i.test(text) ? 1 : 0, 0.1]),
      )
    },
    close: async () => {},
  }
  return { embedder, embedded, state }
}

describe('createCapabilitySearch', () => {
  let home: OpenCapabilityCatalog
  const opened: OpenCapabilitySearch[] = []
  beforeEach(async () => {
    home = await openCapabilityCatalog()
  })
  afterEach(async () => {
    for (const search of opened.splice(0)) await search.close()
    await home.close()
  })

  async function open(embedder?: Embedder): Promise<OpenCapabilitySearch> {
    const search = createCapabilitySearch({ ...home, embedder, logger: silentLogger })
    opened.push(search)
    await search.start()
    await search.settled()
    return search
  }
  const names = async (search: OpenCapabilitySearch, text: string, userId = 'max') =>
    (await search.search({ userId, text, limit: 5, signal })).map(({ capability }) => capability.name)

  it('CAP-1 finds by words of the name, the description, the tags and RUN.md, without a model', async () => {
    await home.publish({ name: 'weather_report', description: 'Rain and sun.', tags: ['umbrella'] })
    await home.publish({ name: 'loan', description: 'Monthly payment.' }, { notes: '# loan\n\nFor a mortgage.' })
    const search = await open()
    for (const text of ['weather', 'raining', 'umbrellas'])
      expect(await names(search, text)).toEqual(['weather_report'])
    expect(await names(search, 'mortgages')).toEqual(['loan'])
    expect(await names(search, 'violin')).toEqual([])
    expect((await search.search({ userId: 'max', text: 'cap_loan', limit: 1, signal }))[0]).toMatchObject({ score: 1 })
  })

  it('CAP-1 finds by meaning, as soon as a version is published, and embeds it once', async () => {
    const model = skyAndFood()
    const search = await open(model.embedder)
    await home.publish({ name: 'forecast', description: 'Tells of rain.' })
    await home.publish({ name: 'recipes', description: 'What to cook.' })
    await names(search, 'x')
    await search.settled()
    expect(model.embedded.filter((text) => text !== 'x')).toHaveLength(2)
    expect(await names(search, 'Do I need an umbrella?')).toEqual(['forecast'])
    expect(await names(search, 'something to eat')).toEqual(['recipes'])
    const [found] = await search.search({ userId: 'max', text: 'umbrella', limit: 1, signal })
    expect(found?.closeness).toBeGreaterThan(0.9)
    model.embedded.length = 0
    const again = await open(model.embedder)
    expect(await names(again, 'umbrella')).toEqual(['forecast'])
    expect(model.embedded).toEqual(['umbrella'])
    await home.publish({ name: 'forecast', description: 'What to cook when.' })
    await again.settled()
    expect(await names(again, 'umbrella')).toEqual([])
    expect(await names(again, 'a meal')).toContain('forecast')
  })

  it('CAP-1 finds by sample questions, by words and by meaning, also after a restart', async () => {
    const model = skyAndFood()
    const askedAs = ['Are wellies enough for that rain?', 'Do I need an umbrella?', 'Any sun today?']
    await home.publish({ name: 'forecast', description: 'The days to come.', askedAs })
    await home.publish({ name: 'loan', description: 'Monthly payment.' })
    expect(await names(await open(), 'wellies')).toEqual(['forecast'])
    const search = await open(model.embedder)
    expect(await names(search, 'sunny')).toEqual(['forecast'])
    expect(model.embedded).toEqual(expect.arrayContaining(askedAs))
    model.embedded.length = 0
    const again = await open(model.embedder)
    expect(await names(again, 'rain')).toEqual(['forecast'])
    expect(model.embedded).toEqual(['rain'])
    // Duplicates are found by descriptions: an umbrella alone is no second forecast.
    const wanted = { userId: 'max', name: 'umbrella_shop', description: 'Umbrella offers.', signal }
    expect(await again.findDuplicate(wanted)).toBeUndefined()
    await home.publish({ name: 'forecast', description: 'The days to come.' })
    await again.settled()
    expect(await names(again, 'rain')).toEqual([])
    expect(await names(await open(), 'wellies')).toEqual([])
  })

  it('CAP-1 does with words alone while the model fails, and catches up when it answers', async () => {
    const model = skyAndFood()
    model.state.isBroken = true
    await home.publish({ name: 'forecast', description: 'Tells of rain.' })
    const search = await open(model.embedder)
    expect(await names(search, 'umbrella')).toEqual([])
    expect(await names(search, 'rain')).toEqual(['forecast'])
    model.state.isBroken = false
    await names(search, 'umbrella')
    await search.settled()
    expect(await names(search, 'umbrella')).toEqual(['forecast'])
  })

  it('CAP-2 finds what serves, and SEC-22 for its own user alone', async () => {
    const { catalog, publish, database } = home
    await publish({ name: 'forecast', description: 'Rain.' })
    await publish({ name: 'forecast', description: 'Rain for her.' }, { userId: 'eve' })
    const search = await open(skyAndFood().embedder)
    const found = await search.search({ userId: 'eve', text: 'rain', limit: 5, signal })
    expect(found.map(({ capability }) => capability.description)).toEqual(['Rain for her.'])
    const unbuilt = { userId: 'max', name: 'rain_radar', description: 'Rain.', inputSchema: {} }
    const { id } = await database.write((writer) => catalog.beginBuildIn(writer, unbuilt))
    await catalog.refresh(id)
    expect(await names(search, 'rain')).toEqual(['forecast'])
    await catalog.setEnabled('max', 'forecast', false)
    expect(await names(search, 'rain')).toEqual([])
    await catalog.setEnabled('max', 'forecast', true)
    expect(await names(search, 'rain')).toEqual(['forecast'])
  })

  it('CAP-1 finds what does the same under another name', async () => {
    await home.publish({ name: 'rain_forecast', description: 'Rain and sun.' })
    await home.publish({ name: 'recipes', description: 'What to cook.' })
    const search = await open(skyAndFood().embedder)
    const same = (name: string, description: string) =>
      search.findDuplicate({ userId: 'max', name, description, signal }).then((found) => found?.name)
    expect(await same('forecast_rain', 'x')).toBe('rain_forecast')
    expect(await same('umbrella_advice', 'x')).toBe('rain_forecast')
    expect(await same('stocks', 'Prices of shares.')).toBeUndefined()
    expect(await same('rain_forecast', 'Rain and sun.')).toBeUndefined()
  })

  it('CAP-8 proposes to archive what another one does that is used more', async () => {
    const { catalog, publish } = home
    const { id } = (await publish({ name: 'rain_forecast', description: 'Rain and sun.' })).capability
    await publish({ name: 'umbrella_advice', description: 'Umbrella or not.' })
    await publish({ name: 'recipes', description: 'What to cook.' })
    await open(skyAndFood().embedder)
    expect(await catalog.proposals('max')).toEqual([])
    await catalog.recordRun(id, {}, succeededRun)
    expect(await catalog.proposals('max')).toEqual([
      { name: 'umbrella_advice', reason: 'rain_forecast does much the same and is used more (1 calls).' },
    ])
  })
})

const part = (text: string) => [{ text, weight: 1 }]
const best = (index: WordIndex, question: string) =>
  index
    .compare(question)
    .best(10)
    .map(({ id }) => id)

it('CAP-1 ranks by how much of the question is said, rare words before common ones', () => {
  const index = createWordIndex()
  for (const place of ['Kiel', 'Rome', 'Oslo']) index.put(place, part(`weather report of ${place}`))
  index.put('tides', part('tides_at_sea'))
  expect(best(index, 'weather in Oslo')[0]).toBe('Oslo')
  expect(best(index, 'when are the tides')).toEqual(['tides'])
  expect(best(index, 'reported')).toHaveLength(3)
  expect(best(index, 'nothing known')).toEqual([])
  expect(index.compare('weather in Oslo').best(1)).toHaveLength(1)
  const score = index.compare('tides sea').matchOf('tides').share
  expect(score).toBeGreaterThan(0.4)
  expect(score).toBeLessThanOrEqual(1)
})

it('CAP-1 holds what was put last, and nothing that was deleted, however often both happen', () => {
  const words = fc.constantFrom('rain', 'sun', 'wind', 'snow')
  const steps = fc.array(fc.tuple(fc.nat(5), fc.option(fc.array(words, { minLength: 1, maxLength: 3 }))), {
    maxLength: 200,
  })
  fc.assert(
    fc.property(steps, (taken) => {
      const index = createWordIndex()
      const expected = new Map<string, readonly string[]>()
      for (const [id, text] of taken) {
        if (text === null) {
          index.delete(`${id}`)
          expected.delete(`${id}`)
        } else {
          index.put(`${id}`, part(text.join(' ')))
          expected.set(`${id}`, text)
        }
      }
      const holders = [...expected].filter(([, text]) => text.includes('rain')).map(([id]) => id)
      const compared = index.compare('rain')
      const found = compared.best(10)
      expect(found.map(({ id }) => id).sort()).toEqual(holders.sort())
      expect(found.every(({ id, score }) => score > 0 && score <= 1 && compared.matchOf(id).share === score)).toBe(true)
      expect(compared.matchOf('none')).toEqual({ share: 0, strength: 0 })
    }),
  )
})

it('CAP-1 finds the nearest, and keeps to what was put last', () => {
  const vector = fc.int8Array({ minLength: 5, maxLength: 5 })
  const steps = fc.array(fc.tuple(fc.nat(6), fc.option(vector)), { maxLength: 60 })
  const question = fc.array(fc.integer({ min: -100, max: 100 }), { minLength: 5, maxLength: 5 })
  fc.assert(
    fc.property(steps, question, (taken, asked) => {
      const table = createVectorTable(5)
      const expected = new Map<string, Int8Array>()
      for (const [id, stored] of taken) {
        if (stored) {
          table.put(`${id}`, stored)
          expected.set(`${id}`, stored)
        } else {
          table.delete(`${id}`)
          expected.delete(`${id}`)
        }
      }
      const compared = table.compare(Float32Array.from(asked))
      const found = compared.nearest(3)
      if (asked.every((value) => value === 0)) return expect(found).toEqual([])
      const cosines = [...expected.values()].map((stored) => cosine(asked, stored)).sort((a, b) => b - a)
      expect(found).toHaveLength(Math.min(3, expected.size))
      for (const [index, { id, cosine: told }] of found.entries()) {
        expect(told).toBeCloseTo(cosines[index] ?? 0, 3)
        expect(compared.cosineOf(id)).toBeCloseTo(told, 5)
        expect(table.get(id)).toEqual(expected.get(id))
      }
      expect(compared.cosineOf('none')).toBeUndefined()
    }),
  )
})

function cosine(a: readonly number[], b: Int8Array): number {
  const length = (numbers: ArrayLike<number>) => Math.hypot(...Array.from(numbers))
  const product = a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
  return product === 0 ? 0 : product / (length(a) * length(b))
}

const asked = [
  [0, 1],
  [1, 0],
  [0, 1],
].map((numbers) => Float32Array.from(numbers))

it('CAP-1 puts a capability in the middle of what it says and how it is asked for', () => {
  const { said, whole } = toCapabilityVectors(asked)
  expect([...said]).toEqual([0, 1])
  expect([...whole].map((number) => Math.round(number * 1_000))).toEqual([447, 894])
  const alone = toCapabilityVectors(asked.slice(0, 1))
  expect([...alone.whole]).toEqual([...alone.said])
})

it('CAP-1 has both vectors back as they were kept', () => {
  const numbers = (length: number) =>
    fc.float32Array({ minLength: length, maxLength: length, noNaN: true, min: -1, max: 1 })
  const pair = fc.integer({ min: 1, max: 16 }).chain((length) => fc.tuple(numbers(length), numbers(length)))
  fc.assert(
    fc.property(pair, ([said, whole]) => {
      const kept = unpackVectors(packVectors({ said, whole }))
      expect(fromVectorBytes(kept.said)).toEqual(fromVectorBytes(toVectorBytes(said)))
      expect(fromVectorBytes(kept.whole)).toEqual(fromVectorBytes(toVectorBytes(whole)))
    }),
  )
})
