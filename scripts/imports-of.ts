// Formatted code only: biome starts every import at the first column, which keeps text inside strings and comments out.
const statement = /^(?:import|export)\s+(?:type\s+)?[\w$*{},\s]+?\s+from\s+['"]([^'"]+)['"]/gm
const sideEffect = /^import\s+['"]([^'"]+)['"]/gm
const dynamic = /\bimport\(\s*['"]([^'"]+)['"]/g

const typeOnly = /^(?:import|export)\s+(?:type\s|\{(?:\s*type\s[^,}]+,?)+\s*\})/

/** The specifiers of the modules that are loaded: without imports of types alone, which are erased. */
export function loadedBy(text: string): string[] {
  const code = text.replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, '')
  const loads = [statement, sideEffect].flatMap((pattern) => [...code.matchAll(pattern)])
  const dynamically = [...code.matchAll(/\bawait import\(\s*['"]([^'"]+)['"]/g)]
  return [...loads.filter(([whole]) => !typeOnly.test(whole)), ...dynamically].map((match) => match[1] ?? '')
}

/** The specifiers that a TypeScript text imports, also for its types only and dynamically. */
export function importsOf(text: string): string[] {
  const code = text.replace(/^\s*(?:\/\/|\*|\/\*).*$/gm, '')
  return [statement, sideEffect, dynamic].flatMap((pattern) =>
    [...code.matchAll(pattern)].map((match) => match[1] ?? ''),
  )
}
