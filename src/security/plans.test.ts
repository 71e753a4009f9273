import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { allowsModel, allowsTool, closedPlan, type Plan, routeOf, withBuiltInPlans } from './users.ts'

function planWith(more: Partial<Plan>): Plan {
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
    expect(allowsTool(planWith({ tools }), name)).toBe(allowed)
  })

  it('CLIENT-4 patterns match as usual', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '_', '*'), maxLength: 8 })
    const names = fc.string({ unit: fc.constantFrom('a', 'b', '_', '.'), maxLength: 12 })
    fc.assert(
      fc.property(letters, names, (pattern, name) => {
        const meant = new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(name)
        expect(allowsTool(planWith({ tools: { allow: [pattern], deny: [] } }), name)).toBe(meant)
        expect(allowsTool(planWith({ tools: { allow: ['*'], deny: [pattern] } }), name)).toBe(!meant)
      }),
    )
  })
})

it('SEC-22 tools that reach the owner’s machine match no pattern: they must be named', () => {
  for (const name of ['exec', 'file_read', 'file_write', 'file_edit']) {
    expect(allowsTool(planWith({ tools: { allow: ['*', 'e*', 'file_*'], deny: [] } }), name), name).toBe(false)
    expect(allowsTool(planWith({ tools: { allow: [name], deny: [] } }), name), name).toBe(true)
    expect(allowsTool(planWith({ tools: { allow: [name], deny: ['*'] } }), name), name).toBe(false)
  }
})

describe('the models of a plan', () => {
  it('CLIENT-4 are the named ones, and purposes without an entry get no others', () => {
    const plan = planWith({ routes: { primary: ['local/small'], vision: ['local/eyes', 'local/small'] } })
    expect(routeOf(plan, 'primary')).toEqual(['local/small'])
    expect(routeOf(plan, 'vision')).toEqual(['local/eyes', 'local/small'])
    expect(routeOf(plan, 'builder')).toEqual(['local/small'])
    expect(routeOf(planWith({ routes: { vision: ['local/eyes'] } }), 'primary')).toEqual(['local/eyes'])
    expect(routeOf(planWith({}), 'primary')).toBeUndefined()
    expect(allowsModel(plan, 'local/eyes')).toBe(true)
    expect(allowsModel(plan, 'local/large')).toBe(false)
    expect(allowsModel(planWith({}), 'local/large')).toBe(true)
  })
})

it('CLIENT-4 the owner may use everything whatever the config says; a guest may chat; a user without a plan may do nothing', () => {
  const plans = withBuiltInPlans({ owner: planWith({ name: 'owner' }) })
  const { owner, guest } = plans
  expect(owner && allowsTool(owner, 'exec')).toBe(true)
  expect(guest && allowsTool(guest, 'ask_user')).toBe(false)
  expect(guest && routeOf(guest, 'primary')).toBeUndefined()
  const closed = closedPlan('gone')
  expect(allowsTool(closed, 'ask_user')).toBe(false)
  expect(routeOf(closed, 'primary')).toEqual(['offline/offline'])
  expect(closed).toMatchObject({ name: 'gone', budget: { perDayUsd: 0, perMessageUsd: 0 }, maxSessions: 0 })
})
