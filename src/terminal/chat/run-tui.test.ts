import { expect, it } from 'vitest'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { openScriptedTui } from '../../../test/support/scripted-tui.ts'
import type { BuildEvent, BuildReply } from '../../protocol/custom-tools.ts'
import type { ApprovalReply } from '../../protocol/permissions.ts'

const approval: ApprovalReply = {
  id: 'a1',
  session_id: 's',
  tool: 'send',
  arguments: { body: 'all\u202eof it' },
  destination: 'https://mail.example',
  effect: 'reach',
  scopes: ['once', 'conversation', 'always'],
  sentence: 'Let send contact mail.example?',
  covers: 'send → mail.example',
  details: [{ name: 'body', value: 'all\u202eof it' }],
  reason: 'It goes out.',
  question: '',
  state: 'asked',
  asked_at: '',
  expires_at: '',
}

it('SEC-16 a key says yes only when it cannot have been meant for the line', async () => {
  const clock = createManualClock()
  const tui = openScriptedTui({ clock, partner: { approvals: async () => [approval] } })
  await tui.until(/Let send contact mail\.example\?/)
  // Invisible characters are shown as their code, so that the user sees all of the call to approve.
  await tui.until(/all\\\\?u202eof it/)
  tui.type('y')
  await tui.until(/y/)
  expect(tui.asked).toEqual([])
  tui.type('\u007f')
  await clock.advance(599)
  tui.type('n')
  await clock.advance(0)
  expect(tui.asked).toEqual([])
  tui.type('\u007f')
  await clock.advance(5_000)
  await tui.until(/1 once · 2 this conversation · 3 always send → mail\.example · n deny/)
  tui.type('2')
  await clock.advance(0)
  const told = {
    type: 'message',
    messageId: 'm',
    text: 'The user approved: …',
    sender: '',
    source: 'approval',
  } as const
  const outcome = { id: 'a1', answer: 'approve', scope: 'conversation', at: '' } as const
  tui.tell({ type: 'event', event: { ...told, approval: outcome } })
  await tui.until(/Allowed in this conversation by you/)
  expect(tui.bytes()).not.toContain('The user approved')
  expect(tui.asked).toEqual(['approve a1 conversation'])
  expect(tui.sent).toEqual([])
  await tui.leave()
})

it('CHAN-2 runs commands, asks their questions, and sends lines that start with two slashes', async () => {
  const ran: [string, string | undefined][] = []
  const clock = createManualClock()
  const tui = openScriptedTui({
    clock,
    partner: {
      commands: {
        async run(line, confirm) {
          ran.push([line, confirm])
          return confirm ? { ok: true, text: 'Forgot it.' } : { ok: true, text: 'Forget tea?', confirm: 'tea' }
        },
        complete: async () => ({ start: 0, candidates: [] }),
      },
    },
  })
  await tui.until(/ready/)
  tui.type('/forget tea\r')
  await tui.until(/Forget tea\?/)
  await clock.advance(1_000)
  await tui.until(/y yes/)
  tui.type('n')
  await tui.until(/nothing changed/)
  tui.type('/forget tea\r')
  await tui.until(/Forget tea\?/)
  tui.type('yes\r')
  await tui.until(/Forgot it\./)
  expect(ran).toEqual([
    ['/forget tea', undefined],
    ['/forget tea', undefined],
    ['/forget tea', 'tea'],
  ])
  tui.type('//etc/hosts\r')
  await tui.until(/› [\s\S]*\/etc\/hosts/)
  expect(tui.sent).toMatchObject([{ text: '/etc/hosts' }])
  expect(tui.remembered).toEqual(['/forget tea', '/forget tea', 'yes', '//etc/hosts'])
  tui.type('/exit\r')
  await tui.ended
})

it('CHAN-2 reports a build, reads its answer in the line, and its secret hidden', async () => {
  const build: BuildReply = {
    id: 'b',
    name: 'weather',
    kind: 'build',
    state: 'running',
    description: '',
    session_id: null,
    error: null,
    created_at: '',
    ended_at: null,
  }
  const common = { build_id: 'b', at: '', expires_at: '' }
  const events: BuildEvent[] = [
    { ...common, seq: 1, type: 'progress', message: 'Reading the docs' },
    { ...common, seq: 2, type: 'question', question_id: 'q', question: 'Which city?' },
    { ...common, seq: 3, type: 'secret_request', question_id: 's', secret: 'API_KEY', question: 'The key, please.' },
  ]
  const asked: string[] = []
  const tui = openScriptedTui({
    partner: {
      builds: {
        running: async () => [build],
        async *follow() {
          yield* events
        },
        questions: async () => [{ id: 'q' }, { id: 's' }],
        answer: async (id, text) => void asked.push(`${id}: ${text}`),
        giveSecret: async (id, value) => void asked.push(`${id}: ${value}`),
      },
    },
  })
  await tui.until(/Reading the docs[\s\S]*Which city\?[\s\S]*Your next line is the answer/)
  tui.type('Oslo\r')
  await tui.until(/API_KEY[\s\S]*hidden/)
  tui.type('\t')
  tui.type('hunter2')
  tui.type('\r')
  await tui.until(/ready/)
  await tui.leave()
  expect(asked).toEqual(['q: Oslo', 's: hunter2'])
  expect(tui.bytes()).not.toContain('hunter2')
  expect(tui.remembered).toEqual(['Oslo'])
})

it('CHAN-2 does not use a line as an answer that was started before the question came', async () => {
  const asked = Promise.withResolvers<void>()
  const clock = createManualClock()
  const tui = openScriptedTui({
    clock,
    partner: {
      async approvals() {
        await asked.promise
        return []
      },
      commands: {
        async run(line) {
          await asked.promise
          return { ok: true, text: `${line}?`, confirm: 'c' }
        },
        complete: async () => ({ start: 0, candidates: [] }),
      },
    },
  })
  await tui.until(/Familiar/)
  tui.type('/reset\r')
  tui.type('ye')
  await tui.until(/ye/)
  asked.resolve()
  await tui.until(/\/reset\?/)
  tui.type('s\r')
  await tui.until(/› [\s\S]*yes/)
  expect(tui.sent).toMatchObject([{ text: 'yes' }])
  await tui.leave()
})

it('CHAN-2 attaches an image that is dropped on it or is in the clipboard; another path is text', async () => {
  const image = { name: 'cat.png', media_type: 'image/png', data: 'aGk=' }
  const tui = openScriptedTui({
    machine: {
      readImage: async (path) => (path === '/tmp/my cat.png' ? image : undefined),
      clipboardImage: async () => ({ ...image, name: 'clipboard.png' }),
    },
  })
  await tui.until(/ready/)
  tui.type('\u001b[200~/tmp/my\\ cat.png\u001b[201~')
  await tui.until(/\[image cat\.png\]/)
  tui.type('\u0016')
  await tui.until(/\[image clipboard\.png\]/)
  tui.type('look\r')
  await tui.until(/› /)
  // The keys that come while the file is looked for wait for it.
  tui.type('see \u001b[200~/tmp/none.png\u001b[201~ too\r')
  await tui.until(/› [\s\S]*none\.png too/)
  await tui.leave()
  expect(tui.sent).toEqual([
    {
      text: '[image cat.png] [image clipboard.png] look',
      attachments: [image, { ...image, name: 'clipboard.png' }],
    },
    { text: 'see /tmp/none.png too', attachments: [] },
  ])
})

it('CLI-1 has no colors with NO_COLOR', async () => {
  const tui = openScriptedTui({ colours: false })
  tui.tell({
    type: 'event',
    event: { type: 'text_delta', turnId: 't', text: '**bold** `code`\n\n```ts\nlet a = 1\n```' },
  })
  await tui.until(/let a = 1/)
  await tui.leave()
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with one.
  expect(new Set(tui.bytes().match(/\u001b\[[\d;]*m/g))).toEqual(new Set(['\u001b[0m', '\u001b[7m']))
})

it('LOOP-4a CHAN-2 a number key answers a question with options, and not while a line is being typed', async () => {
  const clock = createManualClock()
  const tui = openScriptedTui({ clock })
  const choices = { id: 't1', options: [{ label: 'Austin' }, { label: 'Oslo', description: 'in Norway' }] }
  const pendingChoices = { ...choices, allowText: true, multiple: false }
  const reply = {
    type: 'response',
    turnId: 't1',
    text: 'Which city?',
    buildId: null,
    toolCalls: [] as { name: string; input: null; isError: boolean }[],
    deliver: true,
  } as const
  await tui.until(/ready/)
  tui.tell({ type: 'event', event: { ...reply, pendingQuestion: 'Which city?', pendingChoices } })
  await tui.until(/Which city\?[\s\S]*Austin[\s\S]*Oslo[\s\S]*in Norway/)
  tui.type('2')
  await tui.until(/2/)
  expect(tui.sent).toEqual([])
  tui.type('\u007f')
  await clock.advance(5_000)
  await tui.until(/1–2 to choose, or type your own answer/)
  tui.type('2')
  await tui.until(/› Oslo/)
  expect(tui.sent).toMatchObject([{ text: 'Oslo', answers: 't1' }])
  // Another client was faster.
  tui.tell({
    type: 'event',
    event: { ...reply, turnId: 't2', pendingQuestion: '?', pendingChoices: { ...pendingChoices, id: 't2' } },
  })
  await tui.until(/Austin/)
  tui.tell({
    type: 'event',
    event: { type: 'turn_start', turnId: 't3', model: 'm', answers: { id: 't2', chosen: [] } },
  })
  await clock.advance(5_000)
  tui.type('1')
  await clock.advance(0)
  expect(tui.sent).toHaveLength(1)
  await tui.leave()
})
