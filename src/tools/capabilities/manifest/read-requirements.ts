/** The lines of a `requirements.txt`, without comments. What they may say is for whoever installs them. */
export function readRequirements(text: string): string[] {
  const lines = text.split(/\r\n|\r|\n/).map((line) => line.replace(/(^|\s)#.*$/, '').trim())
  return [...new Set(lines.filter(Boolean))]
}
