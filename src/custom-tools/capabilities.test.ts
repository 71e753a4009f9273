import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type OpenCapabilityCatalog,
  openCapabilityCatalog,
  succeededRun,
} from '../../test/support/capability-catalog.ts'
import { estimateTokens } from '../base/tokens.ts'
import { capabilityLines, createCapabilityPrompt } from './capabilities.ts'

describe('the lines of capabilities in the prompt', () => {
  let home: OpenCapabilityCatalog
  beforeEach(async () => {
    home = await openCapabilityCatalog()
  })
  afterEach(() => home.close())

  it('CAP-6 names the most useful ones first, one line each, and how many more there are', async () => {
    expect(capabilityLines([])).toBeUndefined()
    await home.publish({ name: 'weather', description: 'Rain\nand  sun.' })
    await home.publish({ name: 'weather_of_yesterday', description: 'Rain and sun of the day before, in numbers.' })
    const { id } = (await home.publish({ name: 'loan', description: 'Payments.' })).capability
    await home.publish({ name: 'off', description: 'Off.' })
    await home.catalog.setEnabled('max', 'off', false)
    await home.catalog.recordRun(id, {}, succeededRun)
    expect(capabilityLines(home.catalog.list('max'))?.split('\n')).toEqual([
      'Tools you have built; lookup_capability makes them callable:',
      '- cap_loan: Payments.',
      '- cap_weather: Rain and sun.',
      '- cap_weather_of_yesterday: Rain and sun of the day before, in numbers.',
    ])
    expect(capabilityLines(home.catalog.list('max'), 33)?.split('\n').slice(1)).toEqual([
      '- cap_loan: Payments.',
      '- and 2 more: lookup_capability finds them.',
    ])
    const long = (await home.publish({ name: 'long', description: 'word '.repeat(100) })).capability
    expect(estimateTokens(capabilityLines([long]) ?? '')).toBeLessThan(60)
  })

  it('CTX-4 keeps its bytes while capabilities are called and built, until there is another one', async () => {
    await home.publish({ name: 'weather', description: 'Rain.' })
    const { id } = (await home.publish({ name: 'loan', description: 'Payments.' })).capability
    const prompt = createCapabilityPrompt(home.catalog)
    const before = prompt.lines('max')
    const other = prompt.lines('eve')
    for (let call = 0; call < 3; call += 1) await home.catalog.recordRun(id, {}, succeededRun)
    await home.publish({ name: 'loan', description: 'Payments.' })
    expect([prompt.lines('max'), prompt.lines('eve')]).toEqual([before, other])
    await home.publish({ name: 'tides', description: 'High and low water.' })
    const after = prompt.lines('max')
    expect(after).toContain('cap_tides')
    expect(createCapabilityPrompt(await home.open()).lines('max')).toBe(after)
    prompt.close()
  })
})
