/** A catalog as the checks see it: texts, functions, and groups of them. */
type Part = unknown
const isGroup = (part: Part): part is Record<string, Part> => typeof part === 'object' && part !== null

function kindOf(part: Part): string {
  if (typeof part === 'function') return `a function with ${part.length} parameters`
  return Array.isArray(part) ? 'a list' : isGroup(part) ? 'a group' : typeof part
}

/** The strings that a catalog lacks or has too much, by name: none for a complete translation. */
export function differences(english: Part, other: Part, name = ''): string[] {
  if (other === undefined) return isGroup(english) ? namesIn(english, name) : [`${name}: missing`]
  if (kindOf(english) !== kindOf(other)) return [`${name}: ${kindOf(other)} instead of ${kindOf(english)}`]
  if (!isGroup(english) || !isGroup(other)) return []
  const more = Object.keys(other).filter((key) => !Object.hasOwn(english, key))
  return [
    ...Object.keys(english).flatMap((key) => differences(english[key], other[key], join(name, key))),
    ...more.map((key) => `${join(name, key)}: not in English`),
  ]
}

const join = (name: string, key: string) => (name === '' ? key : `${name}.${key}`)
const namesIn = (group: Record<string, Part>, name: string) =>
  Object.keys(group).flatMap((key) => differences(group[key], undefined, join(name, key)))

/** The catalog with English in the place of what it lacks. */
export function withFallback<T>(english: T, other: unknown): T {
  if (other === undefined) return english
  if (!isGroup(english) || !isGroup(other) || Array.isArray(english)) return other as T
  return Object.fromEntries(Object.entries(english).map(([key, value]) => [key, withFallback(value, other[key])])) as T
}
