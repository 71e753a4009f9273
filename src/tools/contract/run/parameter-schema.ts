import type { JsonObject, ToolParameter } from '../manifest/manifest.ts'

/** The JSON Schema that a model is given for a tool's parameters. */
export function parameterSchema(parameters: readonly ToolParameter[]): JsonObject {
  const required = parameters.filter((parameter) => parameter.isRequired && parameter.default === undefined)
  return {
    type: 'object',
    properties: Object.fromEntries(parameters.map((parameter) => [parameter.name, schemaOf(parameter)])),
    ...(required.length > 0 && { required: required.map(({ name }) => name) }),
  }
}

function schemaOf({
  type,
  description,
  default: usual,
  choices,
  items = { type: 'string' },
}: ToolParameter): JsonObject {
  return {
    type: type === 'float' ? 'number' : type,
    ...(description && { description }),
    // Some providers refuse a list without one.
    ...(type === 'array' && { items }),
    ...(choices && { enum: choices }),
    ...(usual !== undefined && { default: usual }),
  }
}
