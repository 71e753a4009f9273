import type { Clock } from '../base/clock.ts'
import { parseAnyJson } from '../base/json.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Json } from '../protocol/messages.ts'
import type { SecretName, Vault } from '../security/vault.ts'
import type { Database } from '../storage/database.ts'
import type { JsonObject, ToolConfigField } from './manifest.ts'

export type ToolVault = Pick<Vault, 'get' | 'set' | 'delete'>

interface ConfiguredTool {
  userId: string
  tool: string
  fields: readonly ToolConfigField[]
}

const mask = '***'
const maxValueLength = 16_384

/** The settings of tools, for each user: secrets in the vault, the rest in its table. */
export function createToolSettings(dependencies: { database: Database; vault: ToolVault; clock: Clock }) {
  const { database, vault, clock } = dependencies

  async function readAll({ userId, tool, fields }: ConfiguredTool): Promise<Map<string, Json>> {
    const rows = await database.read
      .selectFrom('tool_settings')
      .select(['key', 'value'])
      .where('user_id', '=', userId)
      .where('tool', '=', tool)
      .execute()
    const stored = new Map(rows.map(({ key, value }) => [key, value]))
    const values = new Map<string, Json>()
    for (const { key, isSecret, default: usual } of fields) {
      const value = isSecret
        ? ((await vault.get(placeOf(userId, tool, key))) ?? usual)
        : (readStored(stored.get(key)) ?? usual)
      if (value !== null) values.set(key, value)
    }
    return values
  }

  async function remove({ userId, tool }: ConfiguredTool, { key, isSecret }: ToolConfigField): Promise<void> {
    if (isSecret) await vault.delete(placeOf(userId, tool, key))
    await database.write((writer) =>
      writer
        .deleteFrom('tool_settings')
        .where('user_id', '=', userId)
        .where('tool', '=', tool)
        .where('key', '=', key)
        .execute(),
    )
  }

  async function store({ userId, tool }: ConfiguredTool, { key, isSecret }: ToolConfigField, value: Json) {
    if (isSecret) return void (await vault.set(placeOf(userId, tool, key), String(value)))
    const change = { value: JSON.stringify(value), updated_at: clock.now() }
    await database.write((writer) =>
      writer
        .insertInto('tool_settings')
        .values({ user_id: userId, tool, key, ...change })
        .onConflict((conflict) => conflict.columns(['user_id', 'tool', 'key']).doUpdateSet(change))
        .execute(),
    )
  }

  return {
    /** The values for the tool, and the required keys that are not set. */
    async read(of: ConfiguredTool): Promise<{ values: JsonObject; missing: string[] }> {
      const values = await readAll(of)
      const missing = of.fields.filter(({ key, isRequired }) => isRequired && !isSet(values.get(key)))
      return { values: Object.fromEntries(values), missing: missing.map(({ key }) => key) }
    },
    /** The values to show: those that are set or have a default, secrets as `***`. */
    async masked(of: ConfiguredTool): Promise<JsonObject> {
      const values = await readAll(of)
      const secret = new Set(of.fields.filter(({ isSecret }) => isSecret).map(({ key }) => key))
      return Object.fromEntries(Array.from(values, ([key, value]) => [key, secret.has(key) ? mask : value]))
    },
    /** A `bad_request` for what the tool does not know or cannot be stored; nothing is written then. Null takes a value away. */
    async write(of: ConfiguredTool, values: Record<string, Json>): Promise<void> {
      const changes = Object.entries(values).map(([key, value]) => ({
        field: findField(of, key, 'bad_request'),
        value,
      }))
      for (const { field, value } of changes) refuseUnfit(field, value)
      for (const { field, value } of changes) {
        if (field.isSecret && value === mask) continue
        if (isSet(value)) await store(of, field, value)
        else await remove(of, field)
      }
    },
    /** A `not_found` for a key that the tool does not have. */
    async delete(of: ConfiguredTool, key: string): Promise<void> {
      await remove(of, findField(of, key, 'not_found'))
    },
  }
}

function placeOf(userId: string, tool: string, key: string): SecretName {
  return { userId, owner: `tool:${tool}`, name: key }
}

function readStored(text: string | undefined): Json {
  const parsed = text === undefined ? undefined : parseAnyJson(text)
  return parsed?.ok ? parsed.value : null
}

function isSet(value: Json | undefined): value is Json {
  return value != null && value !== ''
}

function findField({ tool, fields }: ConfiguredTool, key: string, code: 'bad_request' | 'not_found'): ToolConfigField {
  const field = fields.find((one) => one.key === key)
  if (field) return field
  const known = fields.length > 0 ? `It has: ${fields.map((one) => one.key).join(', ')}.` : 'It has none.'
  throw new FamiliarError(code, `${tool} has no setting ${JSON.stringify(key)}. ${known}`)
}

function refuseUnfit({ key, isSecret }: ToolConfigField, value: Json): void {
  if (isSecret && value !== null && typeof value === 'object') {
    throw new FamiliarError('bad_request', `${key} is a secret: expected a text.`)
  }
  if (JSON.stringify(value).length > maxValueLength) {
    throw new FamiliarError('bad_request', `${key} has more than ${maxValueLength} characters.`)
  }
}
