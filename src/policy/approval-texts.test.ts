import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from '../base/json.ts'
import { toDisplayText } from '../base/text.ts'
import { approvalQuestion, approvedText } from './approval-texts.ts'

const reason = 'It is never done without your word.'

function ask(given: unknown, destination: string | null = null): string {
  return approvalQuestion({ tool: 'send', arguments: canonicalJson(given), destination, reason })
}

describe('approvalQuestion', () => {
  it('SEC-16 names tool, destination and arguments, in this order', () => {
    expect(ask({ to: 'a@example.org', body: 'hi' }, 'https://mail.example')).toBe(
      'May I call send to https://mail.example, with {"body":"hi","to":"a@example.org"}? ' +
        'It is never done without your word. Yes or no?',
    )
    expect(ask({})).toBe('May I call send, with {}? It is never done without your word. Yes or no?')
  })

  it('SEC-10 shows what is invisible and what would turn the line around as its code', () => {
    const asked = ask({ a: 'x\u202eevil\u200b\u2028\u0007\u{e0041}' }, 'https://a.example\u2066\n')
    expect(asked).toContain('https://a.example\\u2066\\u000a,')
    expect(asked).toContain('x\\u202eevil\\u200b\\u2028\\u0007\\udb40\\udc41')
  })

  it('SEC-10 is one harmless line for whatever is asked about', () => {
    fc.assert(
      fc.property(fc.json(), fc.string({ unit: 'binary' }), (given, destination) => {
        const asked = ask(JSON.parse(given), destination)
        expect(toDisplayText(asked)).toBe(asked)
        expect(asked).not.toMatch(/[\n\r\u2028\u2029]/)
      }),
    )
  })

  it('SEC-16 says how much it leaves out', () => {
    const asked = ask({ body: 'x'.repeat(5_000) })
    expect(asked.length).toBeLessThan(1_300)
    expect(asked).toContain('(4011 more characters, all of them in "familiar approvals")')
  })
})

describe('approvedText', () => {
  it('SEC-16 gives the model the arguments back, unless they are longer than they are worth', () => {
    expect(approvedText({ tool: 'send', arguments: '{"a":1}' })).toBe(
      'The user approved: send with {"a":1}. Make exactly this call now, once.',
    )
    expect(approvedText({ tool: 'send', arguments: 'x'.repeat(5_000) }).length).toBeLessThan(200)
  })
})
