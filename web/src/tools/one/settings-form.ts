import type { Json } from '../../../../src/protocol/json.ts'
import type { ToolFieldReply } from '../../../../src/protocol/tool-api.ts'

type SettingKind = 'secret' | 'boolean' | 'number' | 'text'

/** A setting has no type of its own: its default says what is meant. */
export function settingKind({ is_secret, default: byDefault }: ToolFieldReply): SettingKind {
  if (is_secret) return 'secret'
  if (typeof byDefault === 'boolean') return 'boolean'
  return typeof byDefault === 'number' ? 'number' : 'text'
}

/** A value as it is typed; nothing of a secret. */
export function shownSetting(field: ToolFieldReply, current: Json | undefined): string {
  if (field.is_secret) return ''
  const value = current ?? field.default
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What was typed and differs from what is set. A secret that nothing was typed for stays as it is. */
export function changedSettings(
  fields: readonly ToolFieldReply[],
  config: Readonly<Record<string, Json>>,
  typed: Readonly<Record<string, string>>,
): Record<string, Json> {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const text = typed[field.key]
      if (text === undefined || text === '' || text === shownSetting(field, config[field.key])) return []
      const kind = settingKind(field)
      const number = Number(text)
      const value = kind === 'boolean' ? text === 'true' : kind === 'number' && Number.isFinite(number) ? number : text
      return [[field.key, value]]
    }),
  )
}
