import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type OpenCapabilityCatalog,
  openCapabilityCatalog,
  succeededRun,
} from '../../../../test/support/capability-catalog.ts'
import { silentLogger } from '../../../base/logger.ts'
import type { Embedder } from '../../../memory/embedding/embedder.ts'
import { toUnitVector } from '../../../memory/embedding/unit-vector.ts'
import { createCapabilitySearch, type OpenCapabilitySearch } from './create-search.ts'

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

  it('CAP-1 finds by how somebody would ask for it, by words and by meaning, after a restart too', async () => {
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
    // What does the same is told by what both say of themselves: an umbrella alone is no second forecast.
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
