import type { Json } from '../../../src/protocol/messages.ts'
import { t } from '../strings/strings.ts'

type FieldKind = 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'json'

/** One line of a form. */
export interface SchemaField {
  name: string
  kind: FieldKind
  hint: string
  isRequired: boolean
  /** With `choice`: each as JSON. */
  choices: string[]
  /** The initial value as text. */
  initial: string
}

/** The fields of an object that a JSON Schema describes; what no simple field fits is written as JSON. */
export function fieldsOf(schema: Json): SchemaField[] {
  if (!isObject(schema) || !isObject(schema.properties)) return []
  const required = Array.isArray(schema.required) ? schema.required : []
  return Object.entries(schema.properties).map(([name, described]) => {
    const property = isObject(described) ? described : {}
    const kind = kindOf(property)
    return {
      name,
      kind,
      hint: typeof property.description === 'string' ? property.description : '',
      isRequired: required.includes(name),
      choices: kind === 'choice' && Array.isArray(property.enum) ? property.enum.map((one) => JSON.stringify(one)) : [],
      initial: property.default === undefined ? '' : typed(kind, property.default),
    }
  })
}

type FormValue =
  | { ok: true; value: { [key: string]: Json } }
  /** The problems by field name. */
  | { ok: false; problems: Record<string, string> }

/** The typed values as an object. Empty fields are left out. */
export function formValue(fields: readonly SchemaField[], typedIn: Readonly<Record<string, string>>): FormValue {
  const value: { [key: string]: Json } = {}
  const problems: Record<string, string> = {}
  for (const field of fields) {
    const text = typedIn[field.name] ?? field.initial
    if (text.trim() === '') {
      if (field.isRequired) problems[field.name] = t.runForm.requiredTitle
      continue
    }
    const read = readField(field, text)
    if (read.ok) value[field.name] = read.value
    else problems[field.name] = read.problem
  }
  return Object.keys(problems).length > 0 ? { ok: false, problems } : { ok: true, value }
}

/** A JSON object, or the problem with it. */
export function readObject(
  text: string,
): { ok: true; value: { [key: string]: Json } } | { ok: false; problem: string } {
  const read = readJson(text.trim() === '' ? '{}' : text)
  if (!read.ok) return read
  return isObject(read.value) ? { ok: true, value: read.value } : { ok: false, problem: t.runForm.mustObject }
}

/** The inverse of `formValue`: the text of each field for a value. */
export function typedFor(fields: readonly SchemaField[], value: { [key: string]: Json }): Record<string, string> {
  return Object.fromEntries(
    fields.flatMap(({ name, kind }) => {
      const given = value[name]
      return given === undefined ? [[name, '']] : [[name, typed(kind, given)]]
    }),
  )
}

function readField({ kind }: SchemaField, text: string): { ok: true; value: Json } | { ok: false; problem: string } {
  switch (kind) {
    case 'text':
      return { ok: true, value: text }
    case 'number':
    case 'integer': {
      const number = Number(text)
      if (!Number.isFinite(number)) return { ok: false, problem: t.runForm.mustNumber }
      if (kind === 'integer' && !Number.isInteger(number)) return { ok: false, problem: t.runForm.mustWholeNumber }
      return { ok: true, value: number }
    }
    case 'boolean':
      return { ok: true, value: text === 'true' }
    case 'choice':
    case 'json':
      return readJson(text)
  }
}

function readJson(text: string): { ok: true; value: Json } | { ok: false; problem: string } {
  try {
    return { ok: true, value: JSON.parse(text) as Json }
  } catch {
    return { ok: false, problem: t.runForm.invalidJson }
  }
}

function kindOf(property: { [key: string]: Json }): FieldKind {
  if (Array.isArray(property.enum)) return 'choice'
  const { type } = property
  if (type === 'string') return 'text'
  return type === 'number' || type === 'integer' || type === 'boolean' ? type : 'json'
}

function typed(kind: FieldKind, value: Json): string {
  if (kind === 'text' && typeof value === 'string') return value
  return kind === 'json' ? JSON.stringify(value, null, 2) : JSON.stringify(value)
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
