import { describe, expect, it } from 'vitest'
import { planReply } from './plan-reply.ts'
import { inEnglish } from './texts.ts'
import { matchesToolRun } from './use-tool.ts'

const plan = (words: string) => planReply({ words, files: [] })

describe('useWeb', () => {
  it.each([
    ['Fetch https://example.com/a?b=1.', 'https://example.com/a?b=1'],
    ['Could you please read <https://example.com/> for me?', 'https://example.com/'],
    ['What does https://example.com say?', 'https://example.com'],
    ['read example.com/news', 'https://example.com/news'],
    ['https://example.com', 'https://example.com'],
  ])('OFFLINE-4 reads “%s”', (words, url) => {
    expect(plan(words)).toMatchObject([{ tool: 'web_fetch', input: { url } }])
  })

  it('OFFLINE-4 asks the web', () => {
    expect(plan('Search the web for tea houses?')).toMatchObject([
      { tool: 'web_search', input: { query: 'tea houses' } },
    ])
  })

  it.each([
    'Node.js',
    'Open the door',
    'file:///etc/passwd',
    'fetch file:///etc/passwd',
    'read ftp://example.com',
    'google',
  ])('OFFLINE-2 does not treat “%s” as an address or a search', (words) => {
    expect(plan(words)).not.toMatchObject([{ tool: expect.stringMatching(/^web_/) }])
  })

  it('SEC-18 reads a megabyte of anything quickly', () => {
    for (const piece of ['.', '?', ' ', 'a.', 'a-', '"', '/', '(', ')', ', ']) {
      const text = piece.repeat(1_000_000 / piece.length)
      for (const opening of [
        'search the web for x',
        'fetch https://a.b/',
        'read ',
        'run the tool x ',
        'run the tool ',
      ]) {
        plan(`${opening}${text}y`)
        matchesToolRun(`${opening}${text}y`)
      }
    }
  })
})

describe('matchesToolRun', () => {
  it("OFFLINE-4 runs a capability by its own name, which is only the beginning of its tool's", () => {
    const intent = matchesToolRun('Run the capability word_count with text: a b c')
    if (intent?.type !== 'call') throw new Error('It was not understood')
    expect(intent).toMatchObject({ tool: 'find_tools', input: { query: 'word_count' } })
    const input = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
    const found = JSON.stringify({ name: 'cap_word_count', description: 'Counts words', input })
    expect(intent.answer({ callId: 'a', name: 'find_tools', text: found, isError: false }, inEnglish)).toMatchObject({
      tool: 'cap_word_count',
      input: { text: 'a b c' },
    })
  })
})
