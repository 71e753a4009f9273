import { styleProperties } from './style-properties.ts'

/**
 * Keeps of a style attribute what only changes how the element looks.
 *
 * A declaration stays when its property is listed and every token of its value is of a listed kind. A function is kept
 * by its name, so nothing that loads (`url`, `image-set`, `src`, …) needs to be known; a backslash is no token, so no
 * escape can spell one; quotes and brackets are whole, so no value reaches into the next.
 */
export function safeStyle(text: string): string {
  if (text.length > 5_000) return ''
  return declarations(text)
    .flatMap((declaration) => safeDeclaration(declaration) ?? [])
    .join(';')
}

const functions = new Set(
  `rgb rgba hsl hsla hwb lab lch oklab oklch color-mix calc min max clamp minmax repeat fit-content linear-gradient
  radial-gradient conic-gradient repeating-linear-gradient repeating-radial-gradient repeating-conic-gradient
  matrix translate translatex translatey scale scalex scaley rotate skew skewx skewy`.split(/\s+/),
)
const token =
  /\s+|(?<name>[a-z-]+)\(|[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?(?:%|[a-z]{1,5})?|#[0-9a-f]{3,8}|-{0,2}[a-z_][\w-]*|'[\w .-]*'|"[\w .-]*"|[()+*,/-]/iy

/** Cut at every semicolon that is outside of quotes and brackets. */
function declarations(text: string): string[] {
  const found: string[] = []
  let start = 0
  let depth = 0
  let quote = ''
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at)
    if (quote !== '') {
      if (character === quote) quote = ''
    } else if (character === '"' || character === "'") quote = character
    else if (character === '(') depth++
    else if (character === ')') depth--
    else if (character === ';' && depth === 0) {
      found.push(text.slice(start, at))
      start = at + 1
    }
  }
  return [...found, text.slice(start)]
}

function safeDeclaration(declaration: string): string | undefined {
  const colon = declaration.indexOf(':')
  if (colon < 0) return undefined
  const property = declaration.slice(0, colon).trim().toLowerCase()
  if (!styleProperties.has(property)) return undefined
  const value = withoutImportant(declaration.slice(colon + 1))
  if (value === '' || value.length > 500 || !isHarmless(value)) return undefined
  // What is fixed would leave its place in the card for one of its own choice.
  if (property === 'position' && !/^(?:static|relative|absolute)$/i.test(value)) return undefined
  return `${property}:${value}`
}

function withoutImportant(value: string): string {
  const trimmed = value.replace(/\s+/g, ' ').trim()
  return trimmed.toLowerCase().endsWith('!important') ? trimmed.slice(0, -'!important'.length).trim() : trimmed
}

function isHarmless(value: string): boolean {
  // Both characters are tokens; together they begin a comment, which would hide what follows.
  if (value.includes('/*')) return false
  let depth = 0
  token.lastIndex = 0
  while (token.lastIndex < value.length) {
    const match = token.exec(value)
    if (!match) return false
    const name = match.groups?.name
    if (name !== undefined && !functions.has(name.toLowerCase())) return false
    if (match[0].endsWith('(')) depth++
    if (match[0] === ')') depth--
    if (depth < 0) return false
  }
  return depth === 0
}
