import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAst } from 'vite'
import { afterEach, describe, expect, it } from 'vitest'
import { en } from './en.ts'
import { setLocale } from './format.ts'
import { type Language, languages, localeFor } from './locale.ts'
import { lengthened, pseudo } from './pseudo.ts'
import { differences, withFallback } from './shape.ts'

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

type Sentence = (...args: unknown[]) => string

function sentencesOf(group: object, name = ''): [name: string, sentence: Sentence][] {
  return Object.entries(group).flatMap(([key, part]) => {
    const path = name === '' ? key : `${name}.${key}`
    if (typeof part === 'function') return [[path, part as Sentence] as [string, Sentence]]
    return typeof part === 'object' && part !== null ? sentencesOf(part as object, path) : []
  })
}

/** Which of its arguments a sentence shows. Their numbers are of the form that has digits in every language. */
function shownBy(sentence: Sentence): number[] {
  const numbers = [1_011, 1_012, 1_013, 1_014, 1_015]
  const named = { change: 1_011, author: 1_012, at: 1_013, until: 1_014 }
  // A record of arguments is a number, too, for a sentence that takes none.
  const args = numbers.map((number, at) => (at === 0 ? Object.assign(new Number(number), named) : number))
  const text = sentence(...args)
  expect(text).toMatch(/\S/)
  expect(text).not.toMatch(/undefined|NaN|\[object|#/)
  const digits = text.replaceAll(/(?<=\d)[.,\s\u00a0\u202f](?=\d{3}\b)/g, '')
  return numbers.filter((number) => digits.includes(String(number)))
}

describe('the catalogs', () => {
  afterEach(() => setLocale('en-US'))

  it.each(Object.keys(languages) as Language[])(
    'PAGE-7a %s has every string of English, and no other',
    async (code) => {
      expect(differences(en, await languages[code].load())).toEqual([])
    },
  )

  it('PAGE-7a a missing, wrong or additional string is named', () => {
    const english = { a: 'x', b: { c: (n: number) => `${n}`, d: ['x'] }, e: { f: 'x' } }
    const other = { a: () => 'x', b: { c: () => 'x', d: ['y'] }, g: 'x' }
    expect(differences(english, other)).toEqual([
      'a: a function with 0 parameters instead of string',
      'b.c: a function with 0 parameters instead of a function with 1 parameters',
      'e.f: missing',
      'g: not in English',
    ])
  })

  it('PAGE-7a English takes the place of a missing string', () => {
    expect(withFallback({ a: 'x', b: { c: 'y', d: 'z' } }, { b: { c: 'Y' } })).toEqual({
      a: 'x',
      b: { c: 'Y', d: 'z' },
    })
  })

  it('PAGE-7a commands and code in backticks are the same in every language', async () => {
    const codeIn = (text: unknown) => (typeof text === 'string' ? (text.match(/`[^`]*`/g) ?? []).sort() : [])
    for (const code of Object.keys(languages) as Language[]) {
      const catalog = withFallback(en, await languages[code].load()) as Record<string, Record<string, unknown>>
      for (const [section, texts] of Object.entries(en as Record<string, Record<string, unknown>>))
        for (const [key, text] of Object.entries(texts))
          expect(codeIn(catalog[section]?.[key]), `${code}: ${section}.${key}`).toEqual(codeIn(text))
    }
  })

  it.each(Object.keys(languages) as Language[])(
    'PAGE-7a each sentence of %s shows what its English shows',
    async (code) => {
      const catalog = withFallback(en, await languages[code].load())
      setLocale(localeFor(code, []))
      for (const [name, sentence] of sentencesOf(en)) {
        const other = name.split('.').reduce<unknown>((group, key) => (group as Record<string, unknown>)[key], catalog)
        expect(shownBy(other as Sentence), `${code}: ${name}`).toEqual(shownBy(sentence))
      }
    },
  )

  it('PAGE-7b the pseudo-language is longer, keeps names and code, and has every string', () => {
    const strange = pseudo(en)
    expect(differences(en, strange)).toEqual([])
    expect(lengthened('Type `/` for commands').length).toBeGreaterThan('Type `/` for commands'.length * 1.3)
    expect(lengthened('Run `familiar sign-in` now')).toContain('`familiar sign-in`')
    expect(strange.chat.byYou('Anna', '9:00')).toMatch(/^Anna .*, 9:00$/)
  })
})
