// biome-ignore-all lint/suspicious/noControlCharactersInRegex: what a terminal is driven with is what this file looks for.
import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { openScriptedTui } from '../../../test/support/scripted-tui.ts'
import type { TurnEvent } from '../../protocol/events.ts'

const start = '\u001b'

/** Sequences that control a terminal or disguise its text; each with a word that must not appear either. */
const families: ((word: string) => string)[] = [
  (word) => `${start}]52;c;${word}\u0007`,
  (word) => `${start}]8;;https://evil.example/${word}${start}\\link${start}]8;;${start}\\`,
  (word) => `${start}]0;${word}${start}\\`,
  (word) => `${start}P1$r${word}${start}\\`,
  (word) => `${start}_G${word}${start}\\`,
  () => `${start}[2J${start}[H`,
  () => `${start}[31337C${start}[1A`,
  () => `${start}[38;5;196m${start}[5m${start}[8m`,
  () => `${start}[31mred${start}[0m`,
  () => `${start}c${start}[?1049h${start}[6n`,
  () => '\u009b2J\u009d0;x\u009c\u0085\u0090q\u009c',
  () => '\b\b\b\u0007\u000b\u000c\u007f\u000e',
  () => '\u202egnp.exe\u202c\u2066x\u2069\u200f\u061c',
  () => 'a\u200bb\u2060c\ufeffd\u2028e\u2029f',
  () => 'first\rlast',
  () => `&#27;[2J &#x9b;31m [x](http://a.example/${start}[2J)`,
  () => `\`\`\`ts\nconst a = "${start}[41m" // \u202e\n\`\`\``,
]
const hostile = Array.from({ length: 510 }, (_, at) => {
  const word = `CANARY${at}`
  return { word, text: `before${at} ${families[at % families.length]?.(word)} after${at}` }
})

/** Sequences that the drawing itself writes: frames, moves, its own few styles, and the marks around a paste. */
const own = [
  /\u001b\[\?(?:2026|25|2004)[hl]/g,
  /\u001b\[(?:>1|<)u/g,
  /\u001b\[2K/g,
  /\u001b\[2J\u001b\[H\u001b\[3J/g,
  /\u001b\[\d{1,3}[ABG]/g,
  /\u001b\]8;;\u0007/g,
  /\u001b\[(?:0|1|2|3|4|7|9|22|23|24|27|29|31|32|33|36|39)m/g,
]

const turnId = 't'
const callId = 'c'

/** Every way in which untrusted text reaches the screen. */
function everywhere(text: string, at: number): TurnEvent[] {
  const id = `${callId}${at}`
  const card = { title: text, html: '', text, accentColor: null, backgroundColor: null, icon: null }
  const media = [{ type: 'media' as const, hash: '', mediaType: 'image/png', name: text, bytes: 1 }]
  const events: TurnEvent[][] = [
    [{ type: 'message', messageId: id, text, sender: text, source: text }],
    [{ type: 'text_delta', turnId, text }],
    [{ type: 'thinking_delta', turnId, text }],
    [{ type: 'tool_start', turnId, callId: id, name: text, input: { [text]: text } }],
    [
      { type: 'tool_start', turnId, callId: id, name: 'tool', input: { text } },
      { type: 'tool_progress', turnId, callId: id, name: 'tool', data: { message: text } },
    ],
    [{ type: 'tool_result', turnId, callId: id, name: text, result: text, isError: at % 2 === 0 }],
    [{ type: 'card', turnId, callId: id, name: text, card }],
    [{ type: 'media', turnId, callId: id, name: text, media }],
    [{ type: 'said', turnId, text }],
    [{ type: 'reaction', turnId, emoji: text }],
    [{ type: 'retry', turnId, attempt: 1, reason: text, waitMs: 1 }],
    [{ type: 'turn_start', turnId, model: text }],
  ]
  return events[Math.floor(at / families.length) % events.length] ?? []
}

it('SEC-10 nothing of 500 hostile texts drives the terminal, wherever they come from', async () => {
  const at = (place: number) => hostile[place]?.text ?? ''
  const tui = openScriptedTui({
    columns: 160,
    machine: { history: hostile.slice(0, 17).map(({ text }) => text) },
    partner: {
      where: at(0),
      past: async () => [0, 1, 8, 12].map((place) => ({ role: 'assistant', text: at(place) })),
      facts: async () => ({ session: at(1), model: at(8), contextTokens: 1, windowTokens: 2, costTodayUsd: 0 }),
      find: async () => hostile.slice(0, 17).map(({ text }) => ({ text: '@a', label: text, summary: text })),
      commands: {
        run: async () => ({
          ok: true,
          text: hostile
            .slice(0, 17)
            .map(({ text }) => text)
            .join('\n'),
        }),
        complete: async () => ({
          start: 0,
          candidates: hostile.slice(0, 17).map(({ text }) => ({ text, summary: text })),
        }),
      },
      context: async () => ({
        tokenizer: '',
        last_request_tokens: 1,
        threshold_tokens: 9,
        blocks: hostile.slice(0, 17).map(({ text }) => ({ name: text, tier: text, tokens: 5, cached: true })),
      }),
      approvals: async () => [
        {
          id: 'a',
          session_id: 's',
          tool: at(6),
          arguments: { [at(8)]: at(12) },
          destination: at(12),
          effect: 'reach',
          scopes: ['once'],
          sentence: at(6),
          covers: at(9),
          details: [{ name: at(8), value: at(12) }],
          reason: at(5),
          question: at(6),
          state: 'asked',
          asked_at: '',
          expires_at: '',
        },
      ],
      builds: {
        running: async () => [
          {
            id: 'b',
            name: at(8),
            kind: 'build',
            state: 'running',
            description: '',
            session_id: null,
            error: null,
            created_at: '',
            ended_at: null,
          },
        ],
        async *follow() {
          for (const [seq, { text }] of hostile.slice(0, 17).entries()) {
            yield { type: 'progress', build_id: 'b', seq: seq + 1, at: '', message: text }
          }
        },
        questions: async () => [],
        answer: async () => undefined,
        giveSecret: async () => undefined,
      },
    },
  })
  for (const [place, { text }] of hostile.entries()) {
    for (const event of everywhere(text, place)) tui.tell({ type: 'event', event })
  }
  tui.tell({ type: 'moved', session: at(0) })
  await tui.until(/after509/)
  tui.type('\u0014\u000f\u000f')
  tui.type('/context\r')
  await tui.until(/summarized at/)
  tui.type('/anything\r')
  await tui.until(/before16[\s\S]*after16/)
  tui.type('@')
  await tui.until(/before[\s\S]*after/)
  tui.type('\u0003\u0012')
  await tui.until(/search[\s\S]*before0/)
  tui.type('\r')
  tui.type(`\u001b[200~pasted ${hostile.slice(10, 14).map(({ text }) => text)} so\u001b[201~`)
  await tui.until(/pasted/)
  await tui.leave()

  const bytes = tui.bytes()
  const seen = stripVTControlCharacters(bytes)
  for (const place of [1, 100, 300, 509]) expect(seen).toContain(`after${place}`)
  const rest = own
    .reduce((text, sequence) => text.replace(sequence, ''), bytes)
    .replaceAll('\r\n', '\n')
    .replaceAll('\r', '')
  expect(rest.match(/[^\n\u0020-\u007e\u00a0-\uffff]/g) ?? []).toEqual([])
  expect(rest.match(/[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g) ?? []).toEqual([])
  expect(bytes.match(/CANARY\d+/g) ?? []).toEqual([])
  // The number of colors is the same as without the texts that bring their own.
  expect(bytes).not.toMatch(/\u001b\[31mred/)
})
