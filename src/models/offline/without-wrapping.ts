import type { ToolResult } from '../../protocol/message.ts'

const untrusted = { opening: '<untrusted>', closing: '</untrusted>' }

/** The text without what marks it for language models: `[TOOL:name]…[/TOOL]`, `<untrusted>…</untrusted>`. */
export function withoutWrapping(result: ToolResult): string {
  const text = inside(result.text.trim(), untrusted)
  return inside(text, { opening: `[TOOL:${result.name}]`, closing: '[/TOOL]' })
}

function inside(text: string, { opening, closing }: { opening: string; closing: string }): string {
  const start = text.startsWith(opening) ? opening.length : 0
  return text.slice(start, text.endsWith(closing) ? -closing.length : undefined).trim()
}
