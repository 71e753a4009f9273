import type { Json } from '../protocol/json.ts'
import type { ToolDefinition } from '../protocol/tool.ts'
import { dropAddedNulls } from './strict-schema.ts'

/** The last change to a call's arguments: takes out the nulls that a `complete` schema made the model put in. */
export function createInputSettler(options: {
  tools: readonly ToolDefinition[]
  strictTools: boolean
}): (toolName: string, input: Json) => Json {
  const { tools, strictTools } = options
  return (toolName, input) => {
    const tool = tools.find((candidate) => candidate.name === toolName)
    const wasStrict = tool && (tool.strict || strictTools)
    return wasStrict ? dropAddedNulls(tool.inputSchema, input) : input
  }
}
