import type { ListedTool } from './tool-listing.ts'

const longestName = 64

/** Under which name a server's tool is called, or why it cannot be. */
export interface NamedTool {
  tool: ListedTool
  name: string
  /** Null where the name is good. */
  problem: string | null
}

/**
 * `mcp_calendar_create_event`. Two tools that would have one name are both refused: which of them was meant would depend
 * on the order in which the server lists them.
 */
export function nameTools(server: string, tools: readonly ListedTool[]): NamedTool[] {
  const named = tools.map((tool) => ({ tool, name: `mcp_${slug(server)}_${slug(tool.name)}` }))
  return named.map(({ tool, name }) => ({ tool, name, problem: problemOf(name, named, tool) }))
}

function problemOf(name: string, named: readonly { name: string }[], tool: ListedTool): string | null {
  if (slug(tool.name) === '') return 'Nothing of its name can be written in letters and digits.'
  if (name.length > longestName) return `Its name would be ${name}, which is longer than ${longestName} characters.`
  if (named.filter((other) => other.name === name).length > 1) return `Another one would be called ${name} too.`
  return null
}

/** Small letters, digits and single underscores: `createEvent` and `Create.event` are `create_event`. */
function slug(text: string): string {
  return text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_|_$/g, '')
}
