import { parse } from 'smol-toml'
import { describe, expect, it } from 'vitest'
import { setTomlValue, type TomlValue } from './toml.ts'

const cases: { name: string; before: string; path: string[]; value: TomlValue; after: string }[] = [
  {
    name: 'an empty document',
    before: '',
    path: ['budget', 'per_day_usd'],
    value: 3,
    after: '[budget]\nper_day_usd = 3\n',
  },
  {
    name: 'a value in its place, comments kept',
    before: '# mine\n[budget] # money\nper_day_usd = 20.0 # enough\n',
    path: ['budget', 'per_day_usd'],
    value: 3.5,
    after: '# mine\n[budget] # money\nper_day_usd = 3.5 # enough\n',
  },
  {
    name: 'a list over several lines',
    before: '[providers]\nload = [\n  "a", # first\n]\n[x]\ny = 1\n',
    path: ['providers', 'load'],
    value: ['a', 'b'],
    after: '[providers]\nload = [ "a", "b" ]\n[x]\ny = 1\n',
  },
  {
    name: 'a new key of a table that is there',
    before: '[routes]\nfast = "a/b"\n',
    path: ['routes', 'primary'],
    value: 'c/d',
    after: '[routes]\nprimary = "c/d"\nfast = "a/b"\n',
  },
  {
    name: 'a header at the very end of the text',
    before: '[routes]',
    path: ['routes', 'primary'],
    value: 'c/d',
    after: '[routes]\nprimary = "c/d"\n',
  },
  {
    name: 'an inline table',
    before: 'routes = { fast = "a/b" }\n',
    path: ['routes', 'primary'],
    value: 'c/d',
    after: 'routes = { primary = "c/d", fast = "a/b" }\n',
  },
  {
    name: 'dotted keys, where a header would define the table twice',
    before: 'routes.fast = "a/b"\n[log]\nlevel = "info"\n',
    path: ['routes', 'primary'],
    value: 'c/d',
    after: 'routes.primary = "c/d"\nroutes.fast = "a/b"\n[log]\nlevel = "info"\n',
  },
  {
    name: 'a key at the top',
    before: '[models.main]\nmodel = "x"\n',
    path: ['type'],
    value: 'openai',
    after: 'type = "openai"\n[models.main]\nmodel = "x"\n',
  },
  {
    name: 'a key that needs quotes',
    before: '',
    path: ['models', 'gpt-4.1', 'model'],
    value: 'say "hi"\n',
    after: '[models."gpt-4.1"]\nmodel = "say \\"hi\\"\\n"\n',
  },
]

describe('edit toml', () => {
  for (const { name, before, path, value, after } of cases) {
    it(`CONF-1 sets one value and keeps the rest: ${name}`, () => {
      expect(setTomlValue(before, path, value)).toBe(after)
      expect(() => parse(after)).not.toThrow()
    })
  }

  it('CONF-1 returns undefined if it cannot be sure', () => {
    expect(setTomlValue('[[routes]]\nprimary = "a/b"\n', ['routes', 'primary'], 'c/d')).toBeUndefined()
  })
})
