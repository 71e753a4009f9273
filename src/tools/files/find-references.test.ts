import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { findReferences } from './references.ts'

const found = (text: string) => findReferences(text).map(({ kind, path }) => (kind === 'file' ? path : `block ${path}`))

describe('references', () => {
  it.each<[what: string, text: string, paths: string[]]>([
    ['a path', 'see @notes/a.md now', ['notes/a.md']],
    ['at both ends', '@a.md and @b.md', ['a.md', 'b.md']],
    ['a block', 'following @@auth-patterns', ['block auth-patterns']],
    [
      'a block by its address',
      '@@familiar:///blocks/x.md @@ikigai:///blocks/y',
      ['block blocks/x.md', 'block blocks/y'],
    ],
    ['a block as a file', '@familiar:///blocks/x.md', ['familiar:///blocks/x.md']],
    ['three signs', '@@@x @@@@y', []],
    ['a sign alone', 'meet me @ noon, @, @@ and @. or @/', []],
    ['an e-mail address', 'max@example.org, <max.m+tag@example.org>, mailto:max@example.org', []],
    ['an address with quotes', 'write to "max m"@example.org', []],
    ['a backslash before it', String.raw`\@a.md stays`, []],
    ['the file of a curl', '-F file=@data.json', []],
    ['inline code', 'the `@decorator` and ``x ` @y``, but @a.md', ['a.md']],
    ['a backtick that nothing closes', 'a ` and @a.md', ['a.md']],
    ['a backtick of another paragraph', 'a ` and @a.md\n\nb ` c', ['a.md']],
    ['fenced code', 'see\n```python\n@app.route\n```\n@a.md', ['a.md']],
    ['a fence of tildes', '~~~\n@x\n```\n@y\n~~~\n@a.md', ['a.md']],
    ['a longer fence', '````\n```\n@x\n```\n````\n@a.md', ['a.md']],
    ['a fence that nothing closes', '```\n@x\n', []],
    ['a fence in a quote and in a list', '> ```\n> @x\n> ```\n- ```\n  @y\n  ```\n@a.md', ['a.md']],
    ['a URL', 'https://medium.com/@max https://x.org/?q=(@a) http://max:@host/', []],
    ['a URL behind the sign', '@https://example.org/a', []],
    ['a full stop', 'Read @notes/a.md. Then @b.md!', ['notes/a.md', 'b.md']],
    ['more punctuation', '@a.md, @b.md; @c.md: @d.md?! @e.md…', ['a.md', 'b.md', 'c.md', 'd.md', 'e.md']],
    ['a list without spaces', '@a.md,@b.md;@c.md', ['a.md', 'b.md', 'c.md']],
    ['brackets around it', '(see @a.md) [@b.md] {@c.md} <@d.md>', ['a.md', 'b.md', 'c.md', 'd.md']],
    ['brackets of its own', '@a(1).md @b(2) (@c(3))', ['a(1).md', 'b(2)', 'c(3)']],
    ['emphasis', '**@a.md** and *@b.md*', ['a.md', 'b.md']],
    ['quotation marks around it', '"@a.md" \'@b.md\' “@c.md”', ['a.md', 'b.md', 'c.md']],
    ['whose it is', "@a.md's and @b.md’s", ['a.md', 'b.md']],
    ['other scripts', '（@日本語.md）。 @über/ärger.md、', ['日本語.md', 'über/ärger.md']],
    ['double quotes for spaces', 'see @"my file.md".', ['my file.md']],
    ['single and curly quotes', "@'my file.md' @“your file.md”", ['my file.md', 'your file.md']],
    ['a block in quotes', '@@"my block"', ['block my block']],
    ['a quote that nothing closes', '@"my file.md', []],
    ['a quote over two lines', '@"my\nfile.md"', []],
    ['nothing in quotes', '@"" @" "', []],
    ['an escaped space', String.raw`@my\ file.md now`, ['my file.md']],
    ['a sign inside', '@icon@2x.png', ['icon@2x.png']],
    ['dots', '@../x @./y @.gitignore @..', ['../x', './y', '.gitignore']],
    ['a name without end', `@${'a'.repeat(5_000)} @b.md`, ['b.md']],
  ])('ASSET-6 %s', (_what, text, paths) => {
    expect(found(text)).toEqual(paths)
  })

  it('ASSET-6 in any text they follow one another, and begin with the sign', () => {
    const texts = fc.array(
      fc.oneof(anyText, fc.constantFrom('@', '@@', '`', '```\n', '"', ' ', '\n', 'a.md', '://', ')')),
    )
    fc.assert(
      fc.property(
        texts.map((parts) => parts.join('')),
        (text) => {
          let end = 0
          for (const reference of findReferences(text)) {
            expect(reference.start).toBeGreaterThanOrEqual(end)
            expect(reference.end).toBeGreaterThan(reference.start)
            expect(text[reference.start]).toBe('@')
            expect(reference.path).not.toMatch(/[\n`]|^$/)
            end = reference.end
          }
          expect(end).toBeLessThanOrEqual(text.length)
        },
      ),
    )
  })

  it('ASSET-6 nothing between fences is a reference', () => {
    fc.assert(
      fc.property(anyText, (code) => {
        const inside = code.replaceAll('`', '')
        expect(findReferences(`\`\`\`\n${inside} @a.md\n\`\`\`\n`)).toEqual([])
      }),
    )
  })
})
