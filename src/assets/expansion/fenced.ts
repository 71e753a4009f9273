import { toDisplayText } from '../../base/text.ts'

/** A name on one line that cannot end the line, or the fence, that it stands in. */
export function oneLineName(name: string): string {
  return toDisplayText(name).replaceAll(/[\n\t`]/g, ' ')
}

/** A text under its name, between fences that it cannot close whatever is in it. */
export function fenced({ name, content, note }: { name: string; content: string; note: string | null }): string {
  const longest = (content.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 0)
  const fence = '`'.repeat(Math.max(3, longest + 1))
  const body = content === '' || content.endsWith('\n') ? content : `${content}\n`
  const closed = `${fence} ${oneLineName(name)}\n${body}${fence}`
  return note === null ? closed : `${closed}\n${note}`
}
