import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { listPage } from './browser-tool.ts'

const address = 'https://example.com/shop/'

describe('listPage', () => {
  it('SEC-7 shows the host of a link to another site, and only web addresses', () => {
    const link = (url: string) => ({ role: 'link', name: 'x', ref: 'e1', url })
    expect(listPage([link('../a?b=1')], address)).toBe('[e1] link "x" → /a?b=1')
    expect(listPage([link('//evil.example/a')], address)).toBe('[e1] link "x" → https://evil.example/a')
    expect(listPage([link('javascript:alert(1)')], address)).toBe('[e1] link "x"')
    expect(listPage([link('http://[')], address)).toBe('[e1] link "x"')
  })

  it('SEC-10 removes control, bidirectional and invisible characters', () => {
    const tree = [{ role: 'button', name: 'a\u001b[2Jb\u202e\nc', ref: 'e1' }, 'd\u{e0041}\u0007']
    expect(listPage(tree, address)).toBe('[e1] button "ab c" d')
  })

  it('shows states, values and options, and hides password fields', () => {
    const tree = [
      { role: 'checkbox', name: 'News', ref: 'e1', checked: true },
      { role: 'textbox', name: 'Word', ref: 'e2', text: 'hunter2' },
      { role: 'button', name: 'More', ref: 'e3', expanded: false, disabled: true },
      {
        role: 'combobox',
        ref: 'e4',
        children: Array.from({ length: 25 }, (_, i) => ({ role: 'option', name: `o${i}` })),
      },
    ]
    const text = listPage(tree, address, ['hunter2'])
    expect(text).toContain('[e1] checkbox "News" (checked)')
    expect(text).toContain('[e2] textbox "Word" = "•••"')
    expect(text).toContain('[e3] button "More" (disabled) (closed)')
    expect(text).toContain('[e4] combobox {o0, ')
    expect(text).toContain('… 5 more}')
  })

  it('never throws, however deep the tree', () => {
    const node = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 6 },
        fc.string(),
        fc.jsonValue(),
        fc.record({
          role: fc.constantFrom('generic', 'row', 'cell', 'heading', 'link', 'listitem', 'iframe', 'img', 'x'),
          name: fc.string(),
          ref: fc.constant('e1'),
          url: fc.webUrl(),
          level: fc.double(),
          children: fc.array(tie('node'), { maxLength: 4 }),
        }),
      ),
    })).node
    fc.assert(fc.property(node, fc.string(), (tree, page) => void listPage(tree, page)))
    let deep: unknown = 'end'
    for (let depth = 0; depth < 100_000; depth += 1) deep = { role: 'generic', children: [deep] }
    expect(listPage(deep, address)).toBe('')
  })
})
