import type { ToolResult } from '../../protocol/message.ts'

/** The text without the `[TOOL:name]…[/TOOL]` that marks it for language models. */
export function withoutWrapping(result: ToolResult): string {
  const text = result.text.trim()
  const opening = `[TOOL:${result.name}]`
  const closing = '[/TOOL]'
  const start = text.startsWith(opening) ? opening.length : 0
  return text.slice(start, text.endsWith(closing) ? -closing.length : undefined).trim()
}
