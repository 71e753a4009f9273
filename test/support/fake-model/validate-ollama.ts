import { isObject, type JsonObject, objects, string } from './json.ts'
import { type Call, invalid, type Rejection } from './wire.ts'

const ROLES = ['system', 'user', 'assistant', 'tool']
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** Ollama checks types and little else: pairing of calls and results is the template's business. */
export function validateOllama({ body }: Call): Rejection | undefined {
  if (!string(body.model)) return invalid('model is required')
  for (const entry of objects(body.messages)) {
    const rejection = checkMessage(entry)
    if (rejection) return rejection
  }
  return undefined
}

function checkMessage({ role, content, images, tool_calls }: JsonObject): Rejection | undefined {
  if (!ROLES.includes(string(role))) return invalid(`invalid role: "${string(role)}"`)
  if (content !== undefined && typeof content !== 'string') return wrongType('messages.content', 'string')
  for (const image of Array.isArray(images) ? images : []) {
    if (typeof image !== 'string' || !BASE64.test(image)) return invalid('illegal base64 data at input byte 0')
  }
  for (const call of objects(tool_calls)) {
    const called = isObject(call.function) ? call.function : {}
    if (!isObject(called.arguments)) {
      return wrongType('messages.tool_calls.function.arguments', 'api.ToolCallFunctionArguments')
    }
  }
  return undefined
}

function wrongType(field: string, type: string): Rejection {
  return invalid(`json: cannot unmarshal value into Go struct field ChatRequest.${field} of type ${type}`)
}
