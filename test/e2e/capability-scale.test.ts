import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeDistractors } from '../../bench/capability-search/capability-set.ts'
import { fillCatalog } from '../../bench/capability-search/fill-catalog.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { estimateTokens } from '../../src/base/tokens.ts'
import { createCapabilityPrompt } from '../../src/custom-tools/capabilities.ts'
import { createCapabilityShelf } from '../../src/custom-tools/custom-tool.ts'
import { createFindTools } from '../../src/custom-tools/find-tools.ts'
import { createCapabilitySearch } from '../../src/custom-tools/search.ts'
import { createToolRegistry } from '../../src/tools/registry.ts'
import { type OpenCapabilityCatalog, openCapabilityCatalog } from '../support/capability-catalog.ts'
import { toolContext } from '../support/tool-context.ts'

describe('ten thousand capabilities', () => {
  let home: OpenCapabilityCatalog
  beforeEach(async () => {
    home = await openCapabilityCatalog()
    await fillCatalog(home.database, makeDistractors(7).slice(0, 10_000), 'max')
  })
  afterEach(() => home.close())

  it('CTX-5 add at most 200 tokens to the prompt, the same bytes at every start', async () => {
    const catalog = await home.open()
    expect(catalog.list('max')).toHaveLength(10_000)
    const lines = createCapabilityPrompt(catalog).lines('max') ?? ''
    expect(estimateTokens(lines)).toBeLessThanOrEqual(200)
    expect(lines).toMatch(/- and 99\d\d more: lookup_capability finds them\.$/)
    expect(createCapabilityPrompt(await home.open()).lines('max')).toBe(lines)
    expect(createCapabilityPrompt(catalog).lines('eve')).toBeUndefined()
  })

  it('CAP-1 are found by their words, and none of them is listed', async () => {
    const catalog = await home.open()
    const search = createCapabilitySearch({ catalog, database: home.database, logger: silentLogger })
    const registry = createToolRegistry()
    const runs = { run: () => Promise.reject(new Error('nothing runs here')) }
    registry.addShelf(createCapabilityShelf({ catalog, runs, afterFailure: async () => undefined }))
    const findTools = createFindTools({ registry, capabilities: search })
    const { foundTools } = await findTools.run({ query: 'which pallet positions are overdue' }, toolContext())
    expect(foundTools?.[0]).toBe('cap_warehouse_pallet_positions_reminder')
    expect(foundTools).toHaveLength(5)
    expect(registry.list()).toEqual([])
    expect((await findTools.run({ query: 'pallets' }, toolContext({ userId: 'eve' }))).isError).toBe(true)
    await search.close()
  })
})
