import fc from 'fast-check'
import { parse } from 'smol-toml'
import { describe, expect, it } from 'vitest'
import { indexToml } from './toml.ts'

const bareKey = fc.stringMatching(/^[a-z][a-z0-9_-]{0,5}$/)
const quotedKey = fc.string({ maxLength: 6, unit: 'grapheme' }).filter((text) => !/[\p{C}\u2028\u2029]/u.test(text))
const anyKey = fc.oneof({ weight: 3, arbitrary: bareKey }, { weight: 1, arbitrary: quotedKey })

const trap = 'trap = 1\n[trap]\n# "not the end"\nkey = \'x\''
const scalars = ['1', '-2.5', 'true', '2026-11-15 10:00:00', '"a # b = c"', "'[no]'", '""', "''"]
const value: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...scalars, `"""\n${trap} \\""" x"""`, `'''\n${trap}\n'''`, `"""a"""""`, '[]', '{}'),
  fc.array(fc.constantFrom(...scalars), { maxLength: 3 }).map((items) => `[ # list\n  ${items.join(',\n  ')}\n]`),
)
const gap = fc.constantFrom('', '', '\n', '# trap = 1\n', '  # [trap]\n\n')

interface Line {
  path: (string | number)[]
  text: string
}

const writeKey = (key: string) =>
  /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key).replaceAll('\u007f', '\\u007F')

/** Documents of tables, arrays of tables, dotted and quoted keys, and inline tables, with the path of each line. */
const document = fc
  .array(
    fc.record({
      header: fc.array(anyKey, { minLength: 1, maxLength: 3 }),
      isArray: fc.boolean(),
      pairs: fc.array(
        fc.record({ key: fc.array(anyKey, { minLength: 1, maxLength: 3 }), value, gap, inline: fc.boolean() }),
        { maxLength: 4 },
      ),
    }),
    { minLength: 1, maxLength: 5 },
  )
  .map((tables) => {
    const lines: Line[] = []
    for (const [number, table] of tables.entries()) {
      // Numbered, so that no table is defined twice; other collisions are rejected by the parser.
      const header = [`t${table.isArray ? '' : number}`, ...(table.isArray ? [] : table.header)]
      const place = lines.filter((line) => line.path.length === 2 && line.path[0] === 't').length
      const path = table.isArray ? ['t', place] : header
      const name = header.map(writeKey).join(' . ')
      lines.push({ path, text: table.isArray ? `[[ ${name} ]]` : `[${name}] # comment` })
      for (const pair of table.pairs) {
        const key = pair.key.map(writeKey).join('.')
        const written = pair.inline ? `{ x = ${pair.value.includes('\n') ? '1' : pair.value}, y.z = 2 }` : pair.value
        lines.push({ path: [...path, ...pair.key], text: `${pair.gap}${key} = ${written}` })
      }
    }
    return lines
  })

describe('toml index', () => {
  it('CONF-2 finds the line of the key, for any document', () => {
    let checked = 0
    fc.assert(
      fc.property(document, fc.constantFrom('\n', '\r\n'), fc.boolean(), (lines, newline, hasBom) => {
        const text = `${hasBom ? '\ufeff' : ''}${lines.map((line) => line.text).join('\n')}`.replaceAll('\n', newline)
        fc.pre(parses(text))
        const index = indexToml(text)
        const written = text.split(newline)
        let above = 0
        for (const line of lines) {
          const last = line.path.at(-1)
          const gapLines = (/^(?:\s*(?:#[^\n]*)?\n)*/.exec(line.text)?.[0] ?? '').split('\n').length - 1
          expect(index.lineOf(line.path), JSON.stringify(line.path)).toBe(above + gapLines + 1)
          above += line.text.split('\n').length
          const found = written[index.lineOf(line.path) - 1] ?? ''
          expect(found).toContain(typeof last === 'number' ? '[[ t ]]' : writeKey(String(last)))
          expect(found.trimStart().startsWith('#')).toBe(false)
          checked += 1
        }
        for (const path of allPaths(parse(text))) expect(index.find(path), JSON.stringify(path)).toBeDefined()
      }),
      { numRuns: 1000 },
    )
    expect(checked).toBeGreaterThan(2000)
  })

  it('CONF-2 knows the exact text of each value', () => {
    const text = 'a = [ 1, "]" ] # x\nb = { c = \'}\', d = """q""" }\ne = 1979-05-27 07:32:00 # date\n'
    const index = indexToml(text)
    const textOf = (...path: (string | number)[]) => {
      const span = index.find(path)?.value
      return span && text.slice(span.start, span.end)
    }
    expect(textOf('a')).toBe('[ 1, "]" ]')
    expect(textOf('a', 1)).toBe('"]"')
    expect(textOf('b', 'c')).toBe("'}'")
    expect(textOf('b', 'd')).toBe('"""q"""')
    expect(textOf('e')).toBe('1979-05-27 07:32:00')
  })

  it('CONF-2 names the nearest parent of a missing key', () => {
    const index = indexToml('\n[models.main]\nmodel = "x"\n[[job]]\n[[job]]\nat = 1\n')
    expect(index.lineOf(['models', 'main', 'max_tokens'])).toBe(2)
    expect(index.lineOf(['job', 1, 'name'])).toBe(5)
    expect(index.lineOf(['job', 1, 'at'])).toBe(6)
    expect(index.lineOf(['nowhere'])).toBe(1)
  })

  it('CONF-2 prefers the header of a table to its first mention', () => {
    expect(indexToml('[a.b]\nx = 1\n[a]\ny = 2\n').lineOf(['a'])).toBe(3)
  })
})

function parses(text: string): boolean {
  try {
    parse(text)
    return true
  } catch {
    return false
  }
}

function allPaths(value: unknown, path: PropertyKey[] = []): PropertyKey[][] {
  if (typeof value !== 'object' || value === null || value instanceof Date) return path.length > 0 ? [path] : []
  const children = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  return [...(path.length > 0 ? [path] : []), ...children.flatMap(([key, inner]) => allPaths(inner, [...path, key]))]
}
