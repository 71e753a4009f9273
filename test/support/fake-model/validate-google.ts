import type { Issued } from './issued.ts'
import { isObject, type JsonObject, objects, string } from './json.ts'
import { type Call, invalid, type Rejection } from './wire.ts'

const FUNCTION_NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/
/** The placeholder of clients for a signature that they never had. */
const SKIP_SIGNATURE = 'skip_thought_signature_validator'

export function validateGoogle({ headers, body }: Call, issued: Issued): Rejection | undefined {
  if (!headers['x-goog-api-key'] && !headers.authorization) {
    return { status: 403, message: "Method doesn't allow unregistered callers (callers without established identity)." }
  }
  return checkTools(body.tools) ?? checkContents(objects(body.contents), issued)
}

function checkTools(tools: unknown): Rejection | undefined {
  const names = objects(tools).flatMap((tool) => objects(tool.functionDeclarations).map(({ name }) => string(name)))
  const bad = names.findIndex((name) => !FUNCTION_NAME.test(name))
  if (bad !== -1) return invalid(`Invalid function name at tools[0].function_declarations[${bad}].name.`)
  if (new Set(names).size !== names.length) return invalid('Duplicate function declaration found.')
  return undefined
}

function checkContents(contents: JsonObject[], issued: Issued): Rejection | undefined {
  if (contents.length === 0) return invalid('* GenerateContentRequest.contents: contents is not specified')
  for (const [index, content] of contents.entries()) {
    const rejection =
      checkContent(content, index) ??
      checkSignatures(content, issued) ??
      checkCalls(content, contents[index + 1]) ??
      checkResponses(content, contents[index - 1])
    if (rejection) return rejection
  }
  if (contents.at(-1)?.role === 'model') {
    return invalid('Please ensure that single turn requests end with a user role or the role field is empty.')
  }
  return undefined
}

function checkContent({ role, parts }: JsonObject, index: number): Rejection | undefined {
  if (role !== undefined && role !== 'user' && role !== 'model') {
    return invalid('Please use a valid role: user, model.')
  }
  if (objects(parts).length === 0) {
    return invalid(`* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.`)
  }
  for (const [position, part] of objects(parts).entries()) {
    const empty = !['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse'].some((key) => key in part)
    if (empty) {
      return invalid(
        `* GenerateContentRequest.contents[${index}].parts[${position}].data: ` +
          "required oneof field 'data' must have one initialized field",
      )
    }
  }
  return undefined
}

function checkSignatures({ parts }: JsonObject, issued: Issued): Rejection | undefined {
  const unknown = objects(parts).some(({ thoughtSignature }) => {
    const signature = string(thoughtSignature)
    return signature !== '' && signature !== SKIP_SIGNATURE && !issued.thinking.has(signature)
  })
  return unknown ? invalid('Corrupted thought signature.') : undefined
}

function checkCalls(content: JsonObject, next: JsonObject | undefined): Rejection | undefined {
  const calls = count(content, 'functionCall')
  if (calls === 0 || count(next, 'functionResponse') === calls) return undefined
  return invalid(
    'Please ensure that the number of function response parts is equal to the number of function call parts ' +
      'of the function call turn.',
  )
}

function checkResponses(content: JsonObject, previous: JsonObject | undefined): Rejection | undefined {
  if (count(content, 'functionResponse') === 0 || count(previous, 'functionCall') > 0) return undefined
  return invalid('Please ensure that function response turn comes immediately after a function call turn.')
}

function count(content: JsonObject | undefined, key: string): number {
  return objects(content?.parts).filter((part) => isObject(part[key])).length
}
