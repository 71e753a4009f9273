import type { Build } from '../builds/builds.ts'

/** What the Builder is asked for. The same build always gives the same text. */
export function firstMessage({ name, kind, request }: Build): string {
  const { description, inputSchema, failure } = request
  const parts = [
    kind === 'repair'
      ? `Repair the capability ${name}. Its files are in /capability.`
      : `Build the capability ${name}.`,
    `What it is for:\n${description}`,
    `Its input, as JSON Schema:\n${JSON.stringify(inputSchema)}`,
  ]
  if (failure) {
    parts.push(
      `It failed with this input:\n${JSON.stringify(failure.input)}`,
      `What it said:\n${failure.error}`,
      'Make this input one of the examples, with what should come of it, and keep the others.',
    )
  }
  return parts.join('\n\n')
}
