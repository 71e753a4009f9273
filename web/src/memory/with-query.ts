/** The address of the screen with these changed behind its question mark; an empty one is left out. */
export function withQuery(query: URLSearchParams, changes: Readonly<Record<string, string>>): string {
  const next = new URLSearchParams(query)
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') next.delete(name)
    else next.set(name, value)
  }
  const search = next.toString()
  return search === '' ? '/memory' : `/memory?${search}`
}
