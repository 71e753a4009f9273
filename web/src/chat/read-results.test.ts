import { describe, expect, it } from 'vitest'
import { readBuildId } from './conversation.ts'
import { readCommand, readFoundTools, readMemories, readPage, readSearchHits } from './read-results.ts'

const hostile = [
  '',
  '\n',
  '[',
  '{',
  '[]',
  '1. ',
  '[memory:',
  '{"name": 5}',
  'null',
  '# \n\n',
  '1. a\nnot an address',
  '[stderr]\nx',
]

const answered = (name: string, text: string) => ({ name, result: { text, isError: false } })

describe('results of tools', () => {
  it('PAGE-6 a search is its hits', () => {
    const text =
      '1. One & only\n   https://a.example/x\n   First words\n2. Two\n   https://b.example/\n3. Three\n   nowhere'
    expect(readSearchHits(text)).toEqual([
      { title: 'One & only', url: 'https://a.example/x', host: 'a.example', snippet: 'First words' },
      { title: 'Two', url: 'https://b.example/', host: 'b.example', snippet: '' },
    ])
  })

  it('PAGE-6 a look into memory is its memories', () => {
    const text = [
      'Count: 2',
      '[memory:0193aa00-1111] 2026-11-15 (fact; tags: home) The key is',
      '  with Ruth',
      'Found by words:',
      '[memory:0193aa00-2222] 2026-10-01 [untrusted] "Say \\"yes\\""',
      '[memory:0193aa00-3333] 2026-09-01 Plain',
    ].join('\n')
    expect(readMemories(text)).toEqual({
      count: 2,
      memories: [
        {
          id: '0193aa00-1111',
          day: '2026-11-15',
          marks: 'fact; tags: home',
          text: 'The key is\nwith Ruth',
          isUntrusted: false,
        },
        { id: '0193aa00-2222', day: '2026-10-01', marks: '', text: 'Say "yes"', isUntrusted: true },
        { id: '0193aa00-3333', day: '2026-09-01', marks: '', text: 'Plain', isUntrusted: false },
      ],
    })
    expect(readMemories('Nothing noted.')).toEqual({ count: null, memories: [] })
  })

  it('PAGE-6 a command is how it ended, what it printed and what it complained of', () => {
    expect(readCommand('[exit code 0, 0.1 s]\n4')).toEqual({ end: 'exit code 0, 0.1 s', output: '4', errors: '' })
    const both = readCommand('[exit code 2, 0.1 s]\na\n[stderr]\noops\nmore')
    expect(both).toEqual({ end: 'exit code 2, 0.1 s', output: 'a', errors: 'oops\nmore' })
    expect(readCommand('[exit code 1, 0.0 s]\n[stderr]\noops')).toMatchObject({ output: '', errors: 'oops' })
    expect(readCommand('[exit code 0, 0.0 s]')).toEqual({ end: 'exit code 0, 0.0 s', output: '', errors: '' })
    expect(readCommand('Code does not run here.')).toBeUndefined()
  })

  it('PAGE-6 tools that were found are their names and what they do', () => {
    const text = 'Here:\n{"name":"cap_weather","description":"Tells it"}\n{"name":"mail"}\n{broken'
    expect(readFoundTools(text)).toEqual([
      { name: 'cap_weather', description: 'Tells it' },
      { name: 'mail', description: '' },
    ])
  })

  it('PAGE-6 a page is its title, its place and its text', () => {
    expect(readPage('# News\nhttps://a.example/n\n\nToday')).toEqual({
      title: 'News',
      url: 'https://a.example/n',
      host: 'a.example',
      text: 'Today',
    })
    expect(readPage('https://a.example/n\n\nToday')).toMatchObject({ title: 'a.example' })
    expect(readPage('https://a.example/n answered 404.')).toBeUndefined()
  })

  it('PAGE-6 a build is known by its id', () => {
    const text = '{"name":"x","state":"building","build_id":"b1"}\nIt takes minutes.'
    expect(readBuildId(answered('request_capability', text))).toBe('b1')
    expect(readBuildId(answered('request_capability', 'There is one of that name already'))).toBeUndefined()
    expect(readBuildId(answered('another_tool', text))).toBeUndefined()
  })

  it.each(hostile)('PAGE-3 whatever else a tool answers makes none of them fail: %j', (text) => {
    expect(readSearchHits(text)).toEqual([])
    expect(readMemories(text).memories).toEqual([])
    expect(readFoundTools(text)).toEqual([])
    expect(readPage(text)).toBeUndefined()
    expect(readBuildId(answered('request_capability', text))).toBeUndefined()
    readCommand(text)
  })
})
