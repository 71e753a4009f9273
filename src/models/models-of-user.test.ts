import { expect, it } from 'vitest'
import { createScriptedModel } from '../../test/support/scripted-model.ts'
import type { Models } from './model.ts'
import { modelsOfUser } from './watch-models.ts'

const modelOf = (id: string) => createScriptedModel({ script: [], info: { id } })
const [small, large, offline] = [modelOf('local/small'), modelOf('local/large'), modelOf('offline/offline')]
const all = [small, large, offline]
const models: Models = {
  route: () => [large],
  byId: (id) => all.find(({ info }) => info.id === id),
  list: () => all,
}

it('CLIENT-4 has only the models of the plan, by route and by name', () => {
  const own = modelsOfUser(models, { route: () => ['local/small'], allows: (id) => id === 'local/small' })
  expect(own.route('primary')).toEqual([small])
  expect(own.byId('local/small')).toBe(small)
  expect(own.byId('local/large')).toBeUndefined()
  expect(own.list()).toEqual([small])
})

it('CLIENT-4 uses the default models if the plan names none, and never a more expensive one if its own are missing', () => {
  const everybody = modelsOfUser(models, { route: () => undefined, allows: () => true })
  expect(everybody.route('primary', 'cli')).toEqual([large])
  expect(everybody.list()).toEqual(all)
  const gone = modelsOfUser(models, { route: () => ['local/gone'], allows: (id) => id === 'local/gone' })
  expect(gone.route('builder')).toEqual([offline])
  const nothing = modelsOfUser({ ...models, byId: () => undefined }, { route: () => ['x/y'], allows: () => false })
  expect(() => nothing.route('primary')).toThrow('None of the models')
})
