import { isObject, type JsonObject, objects, string } from './json.ts'
import { MISSING_OPENAI_KEY } from './openai-error.ts'
import { type Call, invalid, type Rejection } from './wire.ts'

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function']
const FUNCTION_NAME = /^[a-zA-Z0-9_-]+$/
const MAX_NAME_LENGTH = 64
const MAX_CALL_ID_LENGTH = 40

export function validateOpenaiChat({ headers, body }: Call): Rejection | undefined {
  if (!headers.authorization?.startsWith('Bearer ')) return MISSING_OPENAI_KEY
  if (!string(body.model)) return invalid('you must provide a model parameter')
  if (!Array.isArray(body.messages)) return invalid("Missing required parameter: 'messages'.", { param: 'messages' })
  return checkTools(body.tools) ?? checkMessages(objects(body.messages))
}

function checkTools(tools: unknown): Rejection | undefined {
  if (Array.isArray(tools) && tools.length === 0) return emptyArray('tools')
  const names = new Set<string>()
  for (const [index, tool] of objects(tools).entries()) {
    const param = `tools[${index}].function.name`
    const name = isObject(tool.function) ? string(tool.function.name) : ''
    if (!name) return invalid(`Missing required parameter: '${param}'.`, { param, code: 'missing_required_parameter' })
    if (!FUNCTION_NAME.test(name)) {
      return invalid(
        `Invalid '${param}': string does not match pattern. ` +
          "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.",
        { param, code: 'invalid_value' },
      )
    }
    if (name.length > MAX_NAME_LENGTH) return tooLong({ param, length: name.length, maximum: MAX_NAME_LENGTH })
    if (names.has(name)) return invalid(`Invalid '${param}': tool names must be unique.`, { param })
    names.add(name)
  }
  return undefined
}

function checkMessages(messages: JsonObject[]): Rejection | undefined {
  if (messages.length === 0) return emptyArray('messages')
  let unanswered: string[] = []
  for (const [index, message] of messages.entries()) {
    const rejection = checkMessage(message, index)
    if (rejection) return rejection

    if (message.role === 'tool') {
      const id = string(message.tool_call_id)
      if (!unanswered.includes(id)) return orphanResult(index)
      unanswered = unanswered.filter((pending) => pending !== id)
      continue
    }
    if (unanswered.length > 0) return unansweredCalls(unanswered, index)
    unanswered = objects(message.tool_calls).map(({ id }) => string(id))
  }
  return unanswered.length > 0 ? unansweredCalls(unanswered, messages.length) : undefined
}

function checkMessage(message: JsonObject, index: number): Rejection | undefined {
  const role = string(message.role)
  const at = `messages[${index}]`
  if (!ROLES.includes(role)) {
    const expected = ROLES.map((name) => `'${name}'`).join(', ')
    return invalid(`Invalid value: '${role}'. Supported values are: ${expected}.`, { param: `${at}.role` })
  }
  return checkContent(message, at) ?? checkToolCalls(message, at)
}

/** Text may be empty, but it has to be there, except beside tool calls. */
function checkContent({ role, content, tool_calls, refusal }: JsonObject, at: string): Rejection | undefined {
  const param = `${at}.content`
  if (content === null || content === undefined) {
    if (role === 'assistant' && (objects(tool_calls).length > 0 || string(refusal))) return undefined
    return invalid("Invalid value for 'content': expected a string, got null.", { param })
  }
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) {
    return invalid(`Invalid type for '${param}': expected one of a string or array of objects.`, { param })
  }
  if (content.length === 0) return emptyArray(param)
  for (const [position, part] of objects(content).entries()) {
    const rejection = checkPart(part, { role: string(role), param: `${param}[${position}]` })
    if (rejection) return rejection
  }
  return undefined
}

function checkPart(part: JsonObject, { role, param }: { role: string; param: string }): Rejection | undefined {
  switch (part.type) {
    case 'text':
      if (typeof part.text === 'string') return undefined
      return invalid(`Missing required parameter: '${param}.text'.`, { param })
    case 'image_url': {
      if (role !== 'user') return invalid("Image URLs are only allowed for messages with role 'user'.", { param })
      const url = isObject(part.image_url) ? string(part.image_url.url) : ''
      return /^(https?:\/\/|data:image\/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}$)/.test(url)
        ? undefined
        : invalid('Invalid base64 image_url.', { param: `${param}.image_url.url`, code: 'invalid_base64' })
    }
    case 'refusal':
    case 'file':
    case 'input_audio':
      return undefined
    default:
      return invalid(`Invalid value: '${string(part.type)}'.`, { param: `${param}.type`, code: 'invalid_value' })
  }
}

function checkToolCalls({ role, tool_calls }: JsonObject, at: string): Rejection | undefined {
  if (tool_calls === undefined || tool_calls === null) return undefined
  if (role !== 'assistant') return invalid(`Unrecognized request argument supplied: '${at}.tool_calls'.`)
  if (objects(tool_calls).length === 0) return emptyArray(`${at}.tool_calls`)
  for (const [position, call] of objects(tool_calls).entries()) {
    const param = `${at}.tool_calls[${position}]`
    const id = string(call.id)
    const called = isObject(call.function) ? call.function : {}
    if (!id) return invalid(`Missing required parameter: '${param}.id'.`, { param })
    if (id.length > MAX_CALL_ID_LENGTH) {
      return tooLong({ param: `${param}.id`, length: id.length, maximum: MAX_CALL_ID_LENGTH })
    }
    if (call.type !== 'function') return invalid(`Missing required parameter: '${param}.type'.`, { param })
    if (!string(called.name)) return invalid(`Missing required parameter: '${param}.function.name'.`, { param })
    if (typeof called.arguments !== 'string') {
      return invalid(`Invalid type for '${param}.function.arguments': expected a string.`, { param })
    }
  }
  return undefined
}

function unansweredCalls(ids: string[], index: number): Rejection {
  return invalid(
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
      `The following tool_call_ids did not have response messages: ${ids.join(', ')}`,
    { param: `messages.[${index}].role` },
  )
}

function orphanResult(index: number): Rejection {
  return invalid(
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    { param: `messages.[${index}].role` },
  )
}

function emptyArray(param: string): Rejection {
  return invalid(
    `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
    { param, code: 'empty_array' },
  )
}

function tooLong({ param, length, maximum }: { param: string; length: number; maximum: number }): Rejection {
  return invalid(
    `Invalid '${param}': string too long. Expected a string with maximum length ${maximum}, ` +
      `but got a string with length ${length} instead.`,
    { param, code: 'string_above_max_length' },
  )
}
