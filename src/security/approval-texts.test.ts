import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from '../base/json.ts'
import { toDisplayText } from '../base/text.ts'
import { approvalQuestion, approvedText, holdsApprovalQuestion, withoutApprovalQuestions } from './approval-texts.ts'

const reason = 'This conversation contains text from outside, which may have asked for it.'

function ask(given: unknown, destination: string | null = null, effect: string | null = 'reach'): string {
  return approvalQuestion({ tool: 'send', arguments: canonicalJson(given), effect, destination, reason })
}

/** As earlier versions asked. */
function askedBefore(call: { tool: string; arguments: string; destination: string | null; reason: string }): string {
  const where = call.destination === null ? '' : ` to ${call.destination}`
  return `May I call ${call.tool}${where}, with ${call.arguments}? ${call.reason} Yes or no?`
}

describe('approvalQuestion', () => {
  it('SEC-16 says in one sentence what will happen and where, then what goes there', () => {
    expect(ask({ city: 'Austin', days: 3 }, 'https://api.example')).toBe(
      `Let send contact api.example? It would send: city = Austin, days = 3. ${reason}`,
    )
    expect(ask({}, 'http://api.example:81')).toBe(`Let send contact http://api.example:81? ${reason}`)
    expect(ask({}, 'mcp:calendar')).toBe(`Let send use the MCP server calendar? ${reason}`)
    expect(ask({ command: 'ls' }, 'exec:host', 'host')).toBe(
      'Let send run on this computer, outside the sandbox? With: command = ls.',
    )
    expect(ask({}, 'build:weather', 'later')).toBe(`Let send build the tool weather? ${reason}`)
    expect(ask({}, 'schedule', 'later')).toBe(`Let send plan a message for later? ${reason}`)
    expect(ask({ body: 'a, b = c' }, 'ann@example.org', 'send')).toBe(
      'Let send send this to ann@example.org? It would send: body = "a, b = c".',
    )
  })

  it('SEC-10 shows invisible and direction-changing characters as their codes', () => {
    const asked = ask({ a: 'x\u202eevil\u200b\u2028\u0007\u{e0041}' }, 'https://a.example\u2066\n')
    expect(asked).toContain('https://a.example\\u2066\\u000a')
    expect(asked).toContain('x\\u202eevil\\u200b\\u2028')
    expect(asked).toContain('\\udb40\\udc41')
  })

  it('SEC-10 is one harmless line whatever the call', () => {
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
    expect(asked).toMatch(/\(4\d\d\d more characters, all of them in "familiar approvals"\)/)
  })
})

describe('approvedText', () => {
  it('SEC-16 gives the arguments back to the model unless they are too long', () => {
    expect(approvedText({ tool: 'send', arguments: '{"a":1}' })).toBe(
      'The user approved: send with {"a":1}. Make exactly this call now, once.',
    )
    expect(approvedText({ tool: 'send', arguments: 'x'.repeat(5_000) }).length).toBeLessThan(200)
  })

  it('SEC-15 recognizes a question that an earlier version stored as a memory', () => {
    const call = { tool: 'send', arguments: '{"to":"bob?"}', destination: 'https://mail.example' }
    const question = askedBefore({
      ...call,
      reason: 'I have read text of others here, and know what is private to you.',
    })
    const other = askedBefore({ ...call, destination: null, reason: 'It is never done without your word.' })
    for (const text of [question, other]) {
      expect(holdsApprovalQuestion(text)).toBe(true)
      expect(withoutApprovalQuestions(text)).toBe('')
      expect(withoutApprovalQuestions(`I write to Bob.\n\n${text}\n${other}\nThe rest follows.`)).toBe(
        'I write to Bob.\n\nThe rest follows.',
      )
      expect(withoutApprovalQuestions(`Hello.\n\nStill waiting for your answer: ${text}`)).toBe('Hello.')
      // Cut off in the middle, like a passage.
      expect(withoutApprovalQuestions(`Hello. ${text.slice(0, -30)}`)).toBe('Hello.')
    }
    for (const text of ['May I call Ruth?', 'May I call Ruth, with your phone? Yes or no?', 'Yes or no?']) {
      expect(holdsApprovalQuestion(text)).toBe(false)
      expect(withoutApprovalQuestions(text)).toBe(text)
    }
  })

  it('SEC-15 removes only the question, whatever was asked', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.jsonValue(), (reach, value) => {
        const given = {
          tool: 'send',
          arguments: canonicalJson({ value }),
          destination: `to:${reach.replaceAll(/\s/g, '')}`,
        }
        const question = askedBefore({ ...given, reason })
        expect(holdsApprovalQuestion(question)).toBe(true)
        expect(withoutApprovalQuestions(`Before.\n\n${question}`)).toBe('Before.')
      }),
    )
  })
})
