import { isRecord } from '../base/json.ts'
import type { Json } from '../protocol/messages.ts'

export type JsonSchema = { [key: string]: Json }

/**
 * The form in which a provider enforces a schema. `closed` objects accept no further properties. `complete` ones also
 * require every property, so that optional ones become nullable.
 */
export type StrictForm = 'closed' | 'complete'

const notEnforceable = ['oneOf', 'allOf', 'not', 'if', 'patternProperties', 'propertyNames', 'unevaluatedProperties']

/** The schema in strict form, or undefined if strict form cannot express it. */
export function toStrictSchema(schema: JsonSchema, form: StrictForm): JsonSchema | undefined {
  try {
    return closeSchema(schema, form)
  } catch (error) {
    if (error === openSchema) return undefined
    throw error
  }
}

/** Removes the nulls from a call's arguments that stand for properties that `complete` made required. */
export function dropAddedNulls(schema: JsonSchema, input: Json): Json {
  if (Array.isArray(input)) {
    const { items } = schema
    return isRecord(items) ? input.map((entry) => dropAddedNulls(items, entry)) : input
  }
  if (!isRecord(input)) return input
  const { properties, required } = schema
  if (!isRecord(properties)) return input
  const wasRequired = new Set(Array.isArray(required) ? required : [])
  return Object.fromEntries(
    Object.entries(input)
      .filter(([name, value]) => value !== null || wasRequired.has(name) || acceptsNull(properties[name]))
      .map(([name, value]) => {
        const property = properties[name]
        return [name, isRecord(property) ? dropAddedNulls(property, value) : value]
      }),
  )
}

const openSchema = new Error('This schema cannot be made strict')

function closeSchema(schema: JsonSchema, form: StrictForm): JsonSchema {
  if (notEnforceable.some((keyword) => keyword in schema)) throw openSchema
  const closed: JsonSchema = { ...schema }
  if (isRecord(schema.items)) closed.items = closeSchema(schema.items, form)
  if (Array.isArray(schema.anyOf))
    closed.anyOf = schema.anyOf.map((branch) => (isRecord(branch) ? closeSchema(branch, form) : branch))
  for (const key of ['$defs', 'definitions']) {
    const definitions = schema[key]
    if (isRecord(definitions)) closed[key] = mapSchemas(definitions, (definition) => closeSchema(definition, form))
  }
  return isObjectSchema(schema) ? closeObject(schema, closed, form) : closed
}

function closeObject(schema: JsonSchema, closed: JsonSchema, form: StrictForm): JsonSchema {
  const { additionalProperties, properties } = schema
  // A map with arbitrary keys: closing it would leave only the empty object.
  if (isRecord(additionalProperties) || additionalProperties === true) throw openSchema
  if (!isRecord(properties)) {
    if (additionalProperties !== false) throw openSchema
    return closed
  }
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  closed.additionalProperties = false
  closed.properties = mapSchemas(properties, (property, name) => {
    const inner = closeSchema(property, form)
    return form === 'closed' || required.has(name) ? inner : allowNull(inner)
  })
  if (form === 'complete') closed.required = Object.keys(properties)
  return closed
}

function allowNull(schema: JsonSchema): JsonSchema {
  if (acceptsNull(schema)) return schema
  const { type } = schema
  if (typeof type !== 'string' || 'enum' in schema || 'const' in schema) return { anyOf: [schema, { type: 'null' }] }
  return { ...schema, type: [type, 'null'] }
}

function acceptsNull(schema: Json | undefined): boolean {
  if (!isRecord(schema)) return false
  const { type, anyOf } = schema
  if (type === 'null' || (Array.isArray(type) && type.includes('null'))) return true
  return Array.isArray(anyOf) && anyOf.some(acceptsNull)
}

function isObjectSchema({ type, properties }: JsonSchema): boolean {
  return (
    type === 'object' ||
    (Array.isArray(type) && type.includes('object')) ||
    (type === undefined && isRecord(properties))
  )
}

function mapSchemas(schemas: JsonSchema, change: (schema: JsonSchema, name: string) => JsonSchema): JsonSchema {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, isRecord(schema) ? change(schema, name) : schema]),
  )
}
