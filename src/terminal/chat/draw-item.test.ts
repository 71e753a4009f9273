import { setCapabilities, visibleWidth } from '@earendil-works/pi-tui'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { drawAsk, drawItem, wrapColumns } from './chat-screen.ts'
import {
  type Ask,
  displayable,
  drawStatus,
  emptyTerminalConversation,
  safeLines,
  type TerminalItem,
} from './conversation.ts'
import { drawWindow, share } from './run-tui.ts'
import { createTheme } from './theme.ts'

const theme = createTheme({ colours: true })
const words = fc.oneof(
  anyText,
  fc.lorem(),
  fc.constantFrom('日本語のテキスト', '👩‍👩‍👧 family', '| a | b |\n|---|---|\n| 1 | 2 |'),
)

it('CHAN-2 draws whatever there is at any width, and no line is wider', () => {
  const item = fc.tuple(words, fc.nat({ max: 7 })).map(([text, kind]): TerminalItem => {
    const call = { kind: 'call', callId: '', name: text, input: { text }, startedAt: 0, progress: text } as const
    const all: TerminalItem[] = [
      { kind: 'user', text, from: text, messageId: undefined },
      { kind: 'answer', text, isOpen: true },
      { kind: 'thinking', text, isOpen: false, startedAt: 0, tookMs: 5 },
      { ...call, outcome: undefined, waits: false },
      { ...call, outcome: { result: text, isError: true, tookMs: 99_000 }, waits: false },
      { kind: 'card', title: text, text },
      { kind: 'note', tone: 'bad', text },
      { kind: 'build', buildId: '', name: text, state: 'failed', lines: [{ tone: 'quiet', text }] },
    ]
    return displayable(all[kind] ?? { kind: 'note', tone: 'plain', text })
  })
  fc.assert(
    fc.property(item, fc.integer({ min: 1, max: 120 }), fc.boolean(), (drawn, width, isExpanded) => {
      const lines = drawItem(drawn, { width, theme, showsThinking: true, isExpanded, now: 1_000 })
      for (const line of safeLines(lines, width)) expect(visibleWidth(line)).toBeLessThanOrEqual(width)
    }),
  )
})

it('CHAN-2 draws the status, questions and the window in 20 columns', () => {
  const facts = { session: 'work', model: 'a/model', contextTokens: 1_000, windowTokens: 2_000, costTodayUsd: 1.5 }
  const wide = drawStatus(emptyTerminalConversation, facts, {
    width: 80,
    theme: createTheme({ colours: false }),
    now: 0,
  })
  expect(wide.join()).toMatch(/^ work · a\/model · 1\.0k of 2\.0k \(50 %\) · \$1\.50 today +ready$/)
  const report = {
    tokenizer: '',
    last_request_tokens: null,
    threshold_tokens: 100_000,
    blocks: [
      { name: 'tools', tier: 'stable', tokens: 10_000, cached: true },
      { name: 'talk', tier: 'history', tokens: 40_000, cached: false },
    ],
  }
  for (const width of [20, 40, 80]) {
    const ask: Ask = {
      kind: 'approval',
      id: '',
      tool: 'send',
      sentence: 'Let send contact a.example?',
      details: [{ name: 'a', value: '1' }],
      reason: 'r',
      scopes: ['once', 'conversation', 'always'],
      covers: 'send → a.example',
    }
    const lines = [
      ...drawStatus(emptyTerminalConversation, facts, { width, theme, now: 0 }),
      ...drawAsk(ask, { width, theme, waiting: 2, isArmed: true, isAnswering: true }),
      ...drawWindow(report, { width, theme }),
    ]
    for (const line of safeLines(lines, width)) expect(visibleWidth(line)).toBeLessThanOrEqual(width)
  }
  const [bar = ''] = drawWindow(report, { width: 60, theme: createTheme({ colours: false }) })
  expect(bar).toBe('█'.repeat(6) + '▓'.repeat(24) + '·'.repeat(30))
})

it("CHAN-2 keeps the columns of a command's answer", () => {
  const line = '/cost [today | week]    what the models cost so far'
  expect(wrapColumns(line, 80)).toEqual([line])
  expect(wrapColumns(line, 42)).toEqual(['/cost [today | week]    what the models', `${' '.repeat(24)}cost so far`])
  expect(wrapColumns(line, 30)).toEqual(['/cost [today | week]', '    what the models cost so', '    far'])
  expect(wrapColumns('just a long line of words', 12)).toEqual(['just a long', 'line of', 'words'])
})

it('CHAN-2 shares all columns, and one at least to whatever is there', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 1_000_000 }), { minLength: 1, maxLength: 6 }), (amounts) => {
      const cells = share(amounts, 60)
      if (amounts.every((amount) => amount === 0)) return
      expect(cells.reduce((sum, cell) => sum + cell, 0)).toBe(60)
      for (const [place, amount] of amounts.entries()) expect((cells[place] ?? 0) > 0).toBe(amount > 0)
    }),
  )
})

it('SEC-18 shows a paragraph as it is that would take long to parse', () => {
  const text = '_a '.repeat(20_000)
  const drawing = { width: 80, theme, isExpanded: true, showsThinking: false, now: 0 }
  const lines = drawItem({ kind: 'answer', text, isOpen: false }, drawing)
  expect(lines.join(' ')).toContain('_a _a _a')
})

it('SEC-7 a link shows its whole address, whatever its words look like', () => {
  setCapabilities({ images: null, trueColor: false, hyperlinks: false })
  const text = '[https://mybank.example/ evil.test](https://evil.test/login) and [click](https://evil.test/x)'
  const drawing = { width: 200, theme: createTheme({ colours: false }), showsThinking: true, isExpanded: false, now: 0 }
  const lines = drawItem({ kind: 'answer', text, isOpen: false }, drawing)
  expect(lines.join('\n')).toContain('https://mybank.example/ evil.test (https://evil.test/login)')
  expect(lines.join('\n')).toContain('click (https://evil.test/x)')
})
