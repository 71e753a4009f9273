import type { Json } from '../../protocol/json.ts'
import type { Tool } from '../tool.ts'

/** The tool, understanding arguments also under the names that other systems gave them. They are not advertised. */
export function takesAlso(tool: Tool, names: Readonly<Record<string, string>>): Tool {
  return { ...tool, run: (input, context) => tool.run(renamed(input, names), context) }
}

function renamed(input: Json, names: Readonly<Record<string, string>>): Json {
  if (input === null || typeof input !== 'object' || Array.isArray(input)) return input
  const given = { ...input }
  for (const [other, name] of Object.entries(names)) given[name] ??= given[other] ?? null
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))
}
