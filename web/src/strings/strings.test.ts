import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAst } from 'vite'
import { describe, expect, it } from 'vitest'
import { en } from './en.ts'

const source = join(import.meta.dirname, '..')

/** Attributes whose value a user sees or hears. */
const shownAttributes = new Set(
  'alt aria-label caption description detail empty hint intro label placeholder summary text title'.split(' '),
)
/** Names that are the same in every language: the product, and commands to type. */
const allowed = /^(?:Familiar|familiar [a-z-]+(?: .*)?)$/
const hasLetters = (text: string) => /\p{L}{2}/u.test(text)

interface Node {
  type: string
  [name: string]: unknown
}
const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'

/** The text of a literal or template; undefined for other expressions. */
function literalText(node: unknown): string | undefined {
  if (!isNode(node)) return undefined
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value
  if (node.type !== 'TemplateLiteral') return undefined
  return (node.quasis as { value: { raw: string } }[]).map(({ value }) => value.raw).join('')
}

/** The expressions that a child or an attribute may turn out to be. */
function branches(node: unknown): unknown[] {
  if (!isNode(node)) return []
  switch (node.type) {
    case 'JSXExpressionContainer':
      return branches(node.expression)
    case 'ConditionalExpression':
      return [...branches(node.consequent), ...branches(node.alternate)]
    case 'LogicalExpression':
      return [...branches(node.left), ...branches(node.right)]
    default:
      return [node]
  }
}

function shownIn(node: Node): string[] {
  if (node.type === 'JSXText') return [String(node.value)]
  if (node.type === 'JSXExpressionContainer') return []
  if (node.type === 'JSXElement' || node.type === 'JSXFragment') {
    const children = (node.children as unknown[]).filter((child) => isNode(child) && child.type !== 'JSXText')
    return children.flatMap(branches).flatMap((child) => literalText(child) ?? [])
  }
  if (node.type !== 'JSXAttribute' || !shownAttributes.has((node.name as { name: string }).name)) return []
  return branches(node.value).flatMap((value) => literalText(value) ?? [])
}

function visibleLiterals(text: string): string[] {
  const found: string[] = []
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) visit(one)
    else if (isNode(value)) {
      found.push(...shownIn(value))
      for (const child of Object.values(value)) visit(child)
    }
  }
  visit(parseAst(text, { lang: 'tsx' }))
  return found.map((one) => one.trim()).filter((one) => hasLetters(one) && !allowed.test(one))
}

describe('the strings of the page', () => {
  it('PAGE-7 come from the catalog: no component holds visible text', () => {
    const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.tsx'))
    expect(files.length).toBeGreaterThan(40)
    const found = files.flatMap((name) =>
      visibleLiterals(readFileSync(join(source, name), 'utf8')).map((text) => `${name}: ${text}`),
    )
    expect(found).toEqual([])
  })

  it('PAGE-7 a text, an attribute and a choice between two texts are found', () => {
    const page = `const a = <p title="One" className="Two">Three {yes ? 'Four' : <b>Five</b>} {n && \`Six \${n}\`} {t.x}</p>`
    expect(visibleLiterals(page).sort()).toEqual(['Five', 'Four', 'One', 'Six', 'Three'])
    expect(visibleLiterals('const a = <p><b>Familiar</b> <CommandLine text="familiar sign-in" /> · …</p>')).toEqual([])
  })

  it('PAGE-7 are not empty and hold no template that was left open', () => {
    const texts = Object.values(en).flatMap((section) => Object.values(section as Record<string, unknown>))
    const plain = texts.filter((text): text is string => typeof text === 'string')
    expect(plain.length).toBeGreaterThan(500)
    expect(plain.filter((text) => text.trim() === '' || /\$\{|undefined/.test(text))).toEqual([])
  })
})
