import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { allowsModel, allowsTool, closedPlan, type Plan, routeOf, withBuiltInPlans } from './users.ts'

function tierOf(more: Partial<Plan>): Plan {
  return {
    name: 'jive',
    tools: { allow: [], deny: [] },
    routes: {},
    budget: {},
    maxSessions: null,
    mode: null,
    ...more,
  }
}

describe('the tools of a plan', () => {
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

  it('CLIENT-4 patterns match as usual', () => {
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

it('SEC-22 tools that reach the owner’s machine match no pattern: they must be named', () => {
  for (const name of ['exec', 'file_read', 'file_write', 'file_edit']) {
    expect(allowsTool(tierOf({ tools: { allow: ['*', 'e*', 'file_*'], deny: [] } }), name), name).toBe(false)
    expect(allowsTool(tierOf({ tools: { allow: [name], deny: [] } }), name), name).toBe(true)
    expect(allowsTool(tierOf({ tools: { allow: [name], deny: ['*'] } }), name), name).toBe(false)
  }
})

describe('the models of a plan', () => {
  it('CLIENT-4 are the named ones, and purposes without an entry get no others', () => {
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

it('CLIENT-4 the owner may use everything whatever the config says; a guest may chat; a user without a plan may do nothing', () => {
  const tiers = withBuiltInPlans({ owner: tierOf({ name: 'owner' }) })
  const { owner, guest } = tiers
  expect(owner && allowsTool(owner, 'exec')).toBe(true)
  expect(guest && allowsTool(guest, 'ask_user')).toBe(false)
  expect(guest && routeOf(guest, 'primary')).toBeUndefined()
  const closed = closedPlan('gone')
  expect(allowsTool(closed, 'ask_user')).toBe(false)
  expect(routeOf(closed, 'primary')).toEqual(['offline/offline'])
  expect(closed).toMatchObject({ name: 'gone', budget: { perDayUsd: 0, perMessageUsd: 0 }, maxSessions: 0 })
})
