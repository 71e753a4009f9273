import type { Issued } from './issued.ts'
import { type JsonObject, objects, string } from './json.ts'
import { MISSING_OPENAI_KEY } from './openai-error.ts'
import { type Call, invalid, type Rejection } from './wire.ts'

const FUNCTION_NAME = /^[a-zA-Z0-9_-]{1,64}$/

export function validateOpenaiResponses({ headers, body }: Call, issued: Issued): Rejection | undefined {
  if (!headers.authorization?.startsWith('Bearer ')) return MISSING_OPENAI_KEY
  if (!string(body.model)) return invalid("Missing required parameter: 'model'.", { param: 'model' })
  if (body.input === undefined) return invalid("Missing required parameter: 'input'.", { param: 'input' })
  const items = objects(body.input)
  return (
    checkTools(body.tools) ??
    checkPreviousResponse(body.previous_response_id, issued) ??
    checkReferences(items, issued) ??
    checkReasoning(items, issued) ??
    checkPairing(items, { continues: body.previous_response_id != null || body.conversation != null })
  )
}

function checkTools(tools: unknown): Rejection | undefined {
  for (const [index, { type, name }] of objects(tools).entries()) {
    if (type !== 'function' || FUNCTION_NAME.test(string(name))) continue
    const param = `tools[${index}].name`
    return invalid(`Invalid '${param}': string does not match pattern '^[a-zA-Z0-9_-]+$'.`, { param })
  }
  return undefined
}

function checkPreviousResponse(id: unknown, issued: Issued): Rejection | undefined {
  if (id === undefined || id === null || issued.responses.has(string(id))) return undefined
  return invalid(`Previous response with id '${string(id)}' not found.`, {
    param: 'previous_response_id',
    code: 'previous_response_not_found',
  })
}

function checkReferences(items: JsonObject[], issued: Issued): Rejection | undefined {
  const seen = new Set<string>()
  for (const { type, id, encrypted_content } of items) {
    const key = string(id)
    if (key === '') continue
    if (seen.has(key)) return invalid(`Duplicate item found with id ${key}.`, { param: 'input' })
    seen.add(key)
    const needsStore = type === 'item_reference' || (type === 'reasoning' && !encrypted_content)
    if (needsStore && !issued.items.get(key)?.stored) {
      return invalid(
        `Item with id '${key}' not found. Items are not persisted when \`store\` is set to false. ` +
          'Try again with `store` set to true, or remove this item from your input.',
        { param: 'input' },
      )
    }
  }
  return undefined
}

/** Reasoning comes back unmodified, before the items it led to and never alone. */
function checkReasoning(items: JsonObject[], issued: Issued): Rejection | undefined {
  const present = new Set(items.map(({ id }) => string(id)))
  for (const [index, item] of items.entries()) {
    const id = string(item.id)
    if (typeof item.encrypted_content === 'string' && !issued.thinking.has(item.encrypted_content)) {
      return invalid(`The encrypted content for item ${id} could not be verified.`, {
        code: 'invalid_encrypted_content',
      })
    }
    const type = issued.items.get(id)?.type ?? item.type
    if (type === 'reasoning' && !isFromModel(items[index + 1], issued)) {
      return invalid(`Item '${id}' of type 'reasoning' was provided without its required following item.`, {
        param: 'input',
      })
    }
    const reasoningId = issued.items.get(id)?.reasoningId
    if (reasoningId && !present.has(reasoningId)) {
      return invalid(
        `Item '${id}' of type '${string(type)}' was provided without its required 'reasoning' item: '${reasoningId}'.`,
        { param: 'input' },
      )
    }
  }
  return undefined
}

function isFromModel(item: JsonObject | undefined, issued: Issued): boolean {
  if (!item) return false
  const type = issued.items.get(string(item.id))?.type ?? item.type
  return type === 'function_call' || type === 'reasoning' || type === 'message' || item.role === 'assistant'
}

function checkPairing(items: JsonObject[], { continues }: { continues: boolean }): Rejection | undefined {
  const open = new Set<string>()
  const answered = new Set<string>()
  for (const { type, call_id } of items) {
    const id = string(call_id)
    if (type === 'function_call') open.add(id)
    if (type !== 'function_call_output') continue
    if (!open.has(id) && !continues) {
      return invalid(`No tool call found for function call output with call_id ${id}.`, { param: 'input' })
    }
    answered.add(id)
  }
  const missing = [...open].find((id) => !answered.has(id))
  return missing === undefined
    ? undefined
    : invalid(`No tool output found for function call ${missing}.`, { param: 'input' })
}
