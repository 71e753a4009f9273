import { toDisplayText } from '../base/text.ts'
import type { Json } from '../protocol/json.ts'

const titleLimit = 120

/** A title in one line of plain text, with `{{name}}` replaced by that parameter; by nothing where there is none. */
export function fillTitle(template: string, params: Readonly<Record<string, Json>>): string {
  return plainTitle(
    template.replace(/\{\{\s{0,8}([\w-]{1,64})\s{0,8}\}\}/g, (_, name: string) => parameterText(params, name)),
  )
}

function parameterText(params: Readonly<Record<string, Json>>, name: string): string {
  const value = Object.hasOwn(params, name) ? params[name] : undefined
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : ''
}

/** Foreign text as a title: one line, with nothing in it that could drive or disguise what shows it. */
export function plainTitle(text: string): string {
  const line = toDisplayText(text).replace(/\s+/g, ' ').trim()
  return line.length <= titleLimit
    ? line
    : `${line
        .slice(0, titleLimit - 1)
        .toWellFormed()
        .replace(/\ufffd$/, '')}…`
}
