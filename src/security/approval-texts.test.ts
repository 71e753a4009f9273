import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from '../base/json.ts'
import { type Language, languages } from '../base/languages.ts'
import { toDisplayText } from '../base/text.ts'
import { approvalScopes } from '../protocol/permissions.ts'
import catalog from './approval-texts.json' with { type: 'json' }
import {
  approvalChoices,
  approvalKeys,
  approvalQuestion,
  approvalView,
  approvedText,
  holdsApprovalQuestion,
  outcomeLine,
  outcomeText,
  withoutApprovalQuestions,
} from './approval-texts.ts'
import { readApprovalAnswer } from './spoken-answer.ts'

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

describe('questions in the languages of users', () => {
  const call = { tool: 'weather', arguments: '{"city":"Austin"}', effect: 'reach', destination: 'https://api.example' }
  const view = (language: Language, more: Partial<typeof call> = {}) =>
    approvalView({ ...call, reason, grants: ['https://api.example'], scopes: approvalScopes, language, ...more })

  it.each([
    ['de', 'Darf weather Kontakt zu api.example aufnehmen?', 'Gesendet würde: city = Austin.', 'Ablehnen'],
    ['es', '¿Permitir que weather contacte con api.example?', 'Enviaría: city = Austin.', 'Denegar'],
    ['fr', 'Autoriser weather à contacter api.example ?', 'Serait envoyé : city = Austin.', 'Refuser'],
    ['zh', '允许 weather 连接 api.example 吗？', '将会发送：city = Austin。', '拒绝'],
    ['ja', 'weather が api.example に接続してもよいですか？', '送信される内容：city = Austin。', '拒否'],
    ['ar', 'هل تسمح لـ weather بالاتصال بـ api.example؟', 'سيُرسل: city = Austin.', 'رفض'],
  ] as const)('SEC-16c %s says it in one sentence with the destination', (language, sentence, sends, deny) => {
    const shown = view(language)
    expect(shown).toMatchObject({ sentence, place: 'api.example', covers: 'weather → api.example', language })
    expect(shown.reason).not.toBe(reason)
    expect(approvalQuestion({ ...call, reason, language })).toBe(`${sentence} ${sends} ${shown.reason}`)
    expect(approvalChoices([shown]).map(({ scope }) => scope)).toEqual([...approvalScopes, null])
    expect(approvalChoices([shown]).at(-1)?.label).toBe(deny)
    expect(approvalKeys(shown)).toMatch(/^1 .+ · 2 .+ · 3 .+weather → api\.example · n .+$/)
  })

  it('SEC-16c English is not named, and stays as it was', () => {
    expect(view('en')).not.toHaveProperty('language')
    expect(view('en').sentence).toBe('Let weather contact api.example?')
    expect(outcomeLine({ answer: 'approve', scope: 'once' })).toBe('Allowed once by you')
    expect(outcomeText({ answer: 'deny', scope: 'once' })).toBe('Denied')
    expect(approvalKeys(view('en'))).toBe('1 once · 2 this conversation · 3 always weather → api.example · n deny')
  })

  it.each(languages)('SEC-16c %s has every text, with the same parts', (language) => {
    const parts = (text: string) => (text.match(/\{\w+\}/g) ?? []).toSorted()
    for (const [name, text] of Object.entries(catalog.en)) {
      const told = catalog[language][name as keyof typeof catalog.en]
      expect(parts(told), name).toEqual(parts(text))
      if (language !== 'en') expect(told, name).not.toBe(text)
    }
    expect(Object.keys(catalog[language])).toEqual(Object.keys(catalog.en))
  })

  it.each(languages)('SEC-16c %s: each label is its own answer when it is typed', (language) => {
    for (const { scope, label } of approvalChoices([{ ...view(language), covers: '' }])) {
      const typed = label.replace(/[:：\s]+$/, '')
      expect(readApprovalAnswer({ text: typed, source: 'cli' }, approvalScopes), label).toEqual(
        scope === null ? { answer: 'deny' } : { answer: 'approve', scope },
      )
    }
  })

  it('SEC-16c the names in a call change no word of the question, in any language', () => {
    const names = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.constantFrom('{place}', '{tool}', '$&', '$1', '{given}? Allow', 'نعم', '\u202e'),
    )
    fc.assert(
      fc.property(fc.constantFrom(...languages), names, names, (language, tool, destination) => {
        const { sentence } = view(language, { tool, destination: `https://x.example/${destination}` })
        const [before = '', between = '', after = ''] = catalog[language].reach.split(/\{tool\}|\{place\}/)
        expect(sentence.startsWith(before)).toBe(true)
        expect(sentence.endsWith(after)).toBe(true)
        expect(sentence).toContain(between)
        expect(sentence).toContain('x.example')
        expect(sentence).not.toMatch(/[\n\r\u2028\u2029\u202e]/)
      }),
    )
  })
})
