import { expect, it } from 'vitest'
import type { Models } from './models.ts'
import { modelsOfUser } from './models-of-user.ts'
import { createScriptedModel } from './scripted-model.ts'

const modelOf = (id: string) => createScriptedModel({ script: [], info: { id } })
const [small, large, offline] = [modelOf('local/small'), modelOf('local/large'), modelOf('offline/offline')]
const all = [small, large, offline]
const models: Models = {
  route: () => [large],
  byId: (id) => all.find(({ info }) => info.id === id),
  list: () => all,
}

it('CLIENT-4 has the models of the tier alone, by route and by name', () => {
  const own = modelsOfUser(models, { route: () => ['local/small'], allows: (id) => id === 'local/small' })
  expect(own.route('primary')).toEqual([small])
  expect(own.byId('local/small')).toBe(small)
  expect(own.byId('local/large')).toBeUndefined()
  expect(own.list()).toEqual([small])
})

it('CLIENT-4 has everybody’s where the tier says nothing, and never a dearer one where its own are gone', () => {
  const everybody = modelsOfUser(models, { route: () => undefined, allows: () => true })
  expect(everybody.route('primary', 'cli')).toEqual([large])
  expect(everybody.list()).toEqual(all)
  const gone = modelsOfUser(models, { route: () => ['local/gone'], allows: (id) => id === 'local/gone' })
  expect(gone.route('builder')).toEqual([offline])
  const nothing = modelsOfUser({ ...models, byId: () => undefined }, { route: () => ['x/y'], allows: () => false })
  expect(() => nothing.route('primary')).toThrow('None of the models')
})
