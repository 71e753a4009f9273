import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { memoryUri, readResourceUri, sessionUri, uriOfBlock } from './resources.ts'

describe('readResourceUri', () => {
  it('MCP-1 reads back listed URIs, escaped or not', () => {
    expect(readResourceUri(memoryUri('01a1-7000'))).toEqual({ kind: 'memory', id: '01a1-7000' })
    expect(readResourceUri(sessionUri('s1'))).toEqual({ kind: 'session', id: 's1' })
    const block = { kind: 'block', label: 'plans/über morgen.md' }
    expect(readResourceUri(uriOfBlock('plans/über morgen.md'))).toEqual(block)
    expect(readResourceUri('familiar:///blocks/plans/über morgen.md')).toEqual(block)
  })

  it('SEC-11 knows nothing else: no file, no other scheme, no id that is none', () => {
    const others = [
      'file:///etc/passwd',
      'familiar://blocks/x.md',
      'familiar:///secrets/x',
      'familiar:///memories/',
      'familiar:///memories/../blocks/x.md',
      'familiar:///memories/a/b',
      'familiar:///blocks/',
      'familiar:///blocks//etc/passwd',
      'familiar:///blocks/%2Fetc/passwd',
      'familiar:///blocks/%zz',
      `familiar:///blocks/${'x'.repeat(2_000)}`,
      'FAMILIAR:///memories/x',
    ]
    for (const uri of others) expect({ uri, read: readResourceUri(uri) }).toEqual({ uri, read: undefined })
  })

  it('MCP-1 takes any text without a fault', () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom('', 'familiar:///blocks/', 'familiar:///memories/'), (text, root) => {
        const read = readResourceUri(root + text)
        if (read?.kind === 'memory') expect(read.id).toMatch(/^[\w-]{1,64}$/)
        if (read?.kind === 'block') expect(read.label.startsWith('/')).toBe(false)
      }),
    )
  })
})
