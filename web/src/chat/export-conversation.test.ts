import { expect, it } from 'vitest'
import type { TurnEvent } from '../../../src/protocol/events.ts'
import { addEvent, emptyConversation } from './conversation.ts'
import { writeExport } from './export-conversation.ts'

const events: TurnEvent[] = [
  {
    type: 'message',
    messageId: 'm1',
    text: 'What is in it?',
    sender: 'ada',
    source: 'web',
    media: [{ type: 'media', hash: 'a', name: 'plan.pdf', mediaType: 'application/pdf', bytes: 3 }],
  },
  { type: 'turn_start', turnId: 't1', model: 'a/b' },
  { type: 'tool_start', turnId: 't1', callId: 'c1', name: 'look', input: {} },
  { type: 'tool_result', turnId: 't1', callId: 'c1', name: 'look', result: 'secret', isError: false },
  { type: 'text_delta', turnId: 't1', text: 'A **plan**.' },
  { type: 'turn_end', turnId: 't1', outcome: 'completed' },
]
const { items } = events
  .map((event, index) => ({ cursor: String(index + 1), event }))
  .reduce(addEvent, emptyConversation)

it('PAGE-6 a conversation is exported as Markdown', () => {
  const text = '# Plans\n\n## You\n\nWhat is in it?\n\n*plan.pdf*\n\n## Familiar\n\nA **plan**.\n'
  expect(writeExport('md', 'Plans', items)).toBe(text)
})

it('PAGE-6 a conversation is exported as JSON', () => {
  expect(JSON.parse(writeExport('json', 'Plans', items))).toEqual({
    title: 'Plans',
    messages: [
      { role: 'user', text: 'What is in it?', attachments: ['plan.pdf'] },
      { role: 'assistant', text: 'A **plan**.', tools: ['look'] },
    ],
  })
})
