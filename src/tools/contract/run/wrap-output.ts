const mostCharacters = 3_000
const marker = /\[(?=\s*\/?\s*TOOL\b)/gi

/**
 * What a tool says, for the model: between markers, at most 3,000 characters, with a note where it is cut. Markers in the
 * text are escaped, so that it cannot end itself or begin as another tool; nothing else is changed (TOOL-8).
 */
export function wrapOutput(name: string, text: string): string {
  return `[TOOL:${name}]\n${cutText(text.replace(marker, '&#91;'))}\n[/TOOL]`
}

function cutText(text: string): string {
  if (text.length <= mostCharacters) return text
  const note = (left: number) => `\n[… ${left} more characters]`
  const kept = text
    .slice(0, mostCharacters - note(text.length).length)
    .toWellFormed()
    .replace(/\ufffd$/, '')
  return kept + note(text.length - kept.length)
}
