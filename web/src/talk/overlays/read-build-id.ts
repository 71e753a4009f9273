import type { ToolPart } from '../conversation.ts'

const begins = new Set(['request_capability', 'repair_capability'])

/** The build that a call has begun or found, by the first line of what it answers. */
export function readBuildId({ name, result }: Pick<ToolPart, 'name' | 'result'>): string | undefined {
  const [line = ''] = (result?.text ?? '').split('\n')
  if (!begins.has(name) || !line.startsWith('{')) return undefined
  try {
    const { build_id } = JSON.parse(line) as { build_id?: unknown }
    return typeof build_id === 'string' ? build_id : undefined
  } catch {
    return undefined
  }
}
