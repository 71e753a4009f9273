import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { allowsModel, allowsTool, closedTier, routeOf, type Tier, withBuiltInTiers } from './tier.ts'

function tierOf(more: Partial<Tier>): Tier {
  return { name: 'jive', tools: { allow: [], deny: [] }, routes: {}, budget: {}, maxSessions: null, ...more }
}

describe('which tools a tier has', () => {
  const tools = { allow: ['memory_*', 'ask_user', 'web_*'], deny: ['*_forget', 'web_fetch'] }

  it.each([
    ['memory_query', true],
    ['ask_user', true],
    ['web_search', true],
    ['web_fetch', false],
    ['memory_forget', false],
    ['memory', false],
    ['my_memory_query', false],
    ['ask_users', false],
    ['exec', false],
    ['', false],
  ])('CLIENT-4 %s: %s', (name, allowed) => {
    expect(allowsTool(tierOf({ tools }), name)).toBe(allowed)
  })

  it('CLIENT-4 takes a pattern as everybody means it', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '_', '*'), maxLength: 8 })
    const names = fc.string({ unit: fc.constantFrom('a', 'b', '_', '.'), maxLength: 12 })
    fc.assert(
      fc.property(letters, names, (pattern, name) => {
        const meant = new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(name)
        expect(allowsTool(tierOf({ tools: { allow: [pattern], deny: [] } }), name)).toBe(meant)
        expect(allowsTool(tierOf({ tools: { allow: ['*'], deny: [pattern] } }), name)).toBe(!meant)
      }),
    )
  })
})

it('SEC-22 what reaches the owner’s own machine is in no pattern: it has to be named', () => {
  for (const name of ['exec', 'file_read', 'file_write', 'file_edit']) {
    expect(allowsTool(tierOf({ tools: { allow: ['*', 'e*', 'file_*'], deny: [] } }), name), name).toBe(false)
    expect(allowsTool(tierOf({ tools: { allow: [name], deny: [] } }), name), name).toBe(true)
    expect(allowsTool(tierOf({ tools: { allow: [name], deny: ['*'] } }), name), name).toBe(false)
  }
})

describe('which models a tier has', () => {
  it('CLIENT-4 those that it names, and no others for what it does not name', () => {
    const tier = tierOf({ routes: { primary: ['local/small'], vision: ['local/eyes', 'local/small'] } })
    expect(routeOf(tier, 'primary')).toEqual(['local/small'])
    expect(routeOf(tier, 'vision')).toEqual(['local/eyes', 'local/small'])
    expect(routeOf(tier, 'builder')).toEqual(['local/small'])
    expect(routeOf(tierOf({ routes: { vision: ['local/eyes'] } }), 'primary')).toEqual(['local/eyes'])
    expect(routeOf(tierOf({}), 'primary')).toBeUndefined()
    expect(allowsModel(tier, 'local/eyes')).toBe(true)
    expect(allowsModel(tier, 'local/large')).toBe(false)
    expect(allowsModel(tierOf({}), 'local/large')).toBe(true)
  })
})

it('CLIENT-4 the owner has everything, whatever the config says; a guest talks; who has no tier has nothing', () => {
  const tiers = withBuiltInTiers({ owner: tierOf({ name: 'owner' }) })
  const { owner, guest } = tiers
  expect(owner && allowsTool(owner, 'exec')).toBe(true)
  expect(guest && allowsTool(guest, 'ask_user')).toBe(false)
  expect(guest && routeOf(guest, 'primary')).toBeUndefined()
  const closed = closedTier('gone')
  expect(allowsTool(closed, 'ask_user')).toBe(false)
  expect(routeOf(closed, 'primary')).toEqual(['offline/offline'])
  expect(closed).toMatchObject({ name: 'gone', budget: { perDayUsd: 0, perMessageUsd: 0 }, maxSessions: 0 })
})
