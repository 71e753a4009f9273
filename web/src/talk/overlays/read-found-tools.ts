export interface FoundTool {
  name: string
  description: string
}

/** What `find_tools` and `lookup_capability` answer: a tool as JSON on each line; other lines are passed over. */
export function readFoundTools(text: string): FoundTool[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return []
    try {
      const { name, description } = JSON.parse(line) as { name?: unknown; description?: unknown }
      if (typeof name !== 'string') return []
      return [{ name, description: typeof description === 'string' ? description : '' }]
    } catch {
      return []
    }
  })
}
