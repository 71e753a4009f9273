import { expect, it } from 'vitest'
import type { ToolFieldReply } from '../../../src/protocol/tools.ts'
import { changedSettings, settingKind, shownSetting } from './tool-settings.tsx'

function field(key: string, more: Partial<ToolFieldReply> = {}): ToolFieldReply {
  return { key, description: '', is_secret: false, is_required: false, default: null, ...more }
}

it('PAGE-6 a settings form sends changed values and never shows secrets', () => {
  const key = field('api_key', { is_secret: true })
  const fields = [key, field('city'), field('days', { default: 3 }), field('loud', { default: false })]
  const config = { api_key: '***', city: 'Austin' }
  expect(fields.map(settingKind)).toEqual(['secret', 'text', 'number', 'boolean'])
  expect(fields.map((one) => shownSetting(one, config[one.key as 'city']))).toEqual(['', 'Austin', '3', 'false'])
  expect(changedSettings(fields, config, {})).toEqual({})
  expect(changedSettings(fields, config, { api_key: '', city: 'Austin' })).toEqual({})
  expect(changedSettings(fields, config, { api_key: 'new', city: 'Berlin', days: '5', loud: 'true' })).toEqual({
    api_key: 'new',
    city: 'Berlin',
    days: 5,
    loud: true,
  })
})
