// Formatted code only: biome starts every import at the first column, which keeps text inside strings and comments out.
const statement = /^(?:import|export)\s+(?:type\s+)?[\w$*{},\s]+?\s+from\s+['"]([^'"]+)['"]/gm
const sideEffect = /^import\s+['"]([^'"]+)['"]/gm
const dynamic = /\bimport\(\s*['"]([^'"]+)['"]/g

/** The specifiers that a TypeScript text imports, also for its types only and dynamically. */
export function importsOf(text: string): string[] {
  const code = text.replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, '')
  return [statement, sideEffect, dynamic].flatMap((pattern) =>
    [...code.matchAll(pattern)].map((match) => match[1] ?? ''),
  )
}
