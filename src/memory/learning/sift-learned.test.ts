import { describe, expect, it } from 'vitest'
import type { Learned } from './extraction.ts'
import { evidenceOf, holdsSecret, isAboutTheAgent, isGrounded, siftLearned } from './write-learned.ts'

function sift(said: string, learned: Partial<Learned>, names: string[] = []) {
  const whole: Learned = { notes: [], facts: [], commitments: [], aliases: [], episode: null, ...learned }
  return siftLearned(whole, { evidence: evidenceOf([said]), knownNames: new Set(names), agentName: 'Jarvis' })
}

const note = (content: string) => ({ content, tags: [], tier: 'long_term' as const })
const fact = (entity: string, attribute: string, value: string) => ({ entity, attribute, value, confidence: 0.9 })

describe('siftLearned', () => {
  it('MEM-8 keeps what the user said, by stem, and drops the rest', () => {
    const { kept, dropped } = sift('My sister Anna moved to Rome and sails every summer', {
      notes: [note('The user’s sister Anna goes sailing in summer'), note('The user owns a yellow submarine')],
      facts: [fact('Anna', 'lives in', 'Rome'), fact('Anna', 'lives in', 'Paris'), fact('Zoe', 'lives in', 'Rome')],
      aliases: [
        { alias: 'Anna', entity: 'sister' },
        { alias: 'Zoe', entity: 'Anna' },
      ],
    })
    expect(kept.notes.map((item) => item.content)).toEqual(['The user’s sister Anna goes sailing in summer'])
    expect(kept.facts.map((item) => item.value)).toEqual(['Rome'])
    expect(kept.aliases).toEqual([{ alias: 'Anna', entity: 'sister' }])
    expect(dropped).toBe(4)
  })

  it('MEM-8 accepts a known name for a pronoun', () => {
    const facts = [fact('Beatrice', 'occupation', 'marine biologist')]
    expect(sift('She is a marine biologist', { facts }).kept.facts).toEqual([])
    expect(sift('She is a marine biologist', { facts }, ['beatrice']).kept.facts).toEqual(facts)
  })

  it('MEM-8 accepts a date in another notation', () => {
    const facts = [fact('user', 'wedding', '2026-05-03')]
    expect(sift('We married on the third of May', { facts }).kept.facts).toEqual(facts)
    expect(sift('We married in secret', { facts }).kept.facts).toEqual([])
  })

  it('MEM-8 never keeps statements about the agent, its tools or its errors', () => {
    const said = 'The assistant Jarvis ran store_memory and got a TypeError stack trace, error message in the tool call'
    const { kept } = sift(said, {
      notes: [
        note('The assistant ran store_memory'),
        note('Jarvis got a stack trace'),
        note('There was an error message in the tool call'),
      ],
      facts: [fact('assistant', 'status', 'error message'), fact('Jarvis', 'ran', 'tool')],
      commitments: [{ who: 'assistant', toWhom: null, what: 'run the tool', deadline: null }],
    })
    expect(kept).toMatchObject({ notes: [], facts: [], commitments: [] })
  })

  it('MEM-8 never keeps passwords, keys or card numbers', () => {
    const said = 'My wifi password is hunter2, my card is 4111 1111 1111 1111 and the key sk-abcdef0123456789abcd'
    const { kept } = sift(said, {
      notes: [note('The wifi password is hunter2'), note('The card is 4111 1111 1111 1111')],
      facts: [fact('user', 'wifi password', 'hunter2'), fact('user', 'key', 'sk-abcdef0123456789abcd')],
    })
    expect(kept).toMatchObject({ notes: [], facts: [] })
  })
})

describe('isAboutTheAgent', () => {
  it.each([
    'The assistant could not find the file',
    'Assistant’s memory is empty',
    'Familiar answers quickly',
    'The AI model is slow',
    'recall_memory returned nothing',
    'There was a ReferenceError at start',
    'The tool call timed out',
    'Jarvis, who restarted twice',
  ])('MEM-8 recognizes talk about the agent: %s', (text) => {
    expect(isAboutTheAgent(text, 'Jarvis')).toBe(true)
  })

  it.each([
    'The user wants the assistant to answer in German',
    'User works as a tool maker',
    'Familiar with Python since school',
    'My agent Tom sells my books',
    'The user debugs trains for a living',
    'Jarvisson is a neighbour',
  ])('MEM-8 keeps the user’s life: %s', (text) => {
    expect(isAboutTheAgent(text, 'Jarvis')).toBe(false)
  })
})

describe('holdsSecret', () => {
  it.each([
    'My PIN is 1234',
    'the API key: abc',
    'password = x',
    '4111-1111-1111-1111',
    'ghp_0123456789abcdefABCDEF',
    '-----BEGIN RSA PRIVATE KEY-----',
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4',
  ])('MEM-8 detects the secret in: %s', (text) => {
    expect(holdsSecret(text)).toBe(true)
  })

  it.each([
    'I forgot my password again',
    'Call me at 0171 1234567',
    'The pin board is full',
    'Order 1234 5678 9012 3456',
  ])('MEM-8 detects none in: %s', (text) => {
    expect(holdsSecret(text)).toBe(false)
  })
})

describe('isGrounded', () => {
  it('MEM-8 reads all of a long text, and nothing from an empty one', () => {
    const long = `${'Nothing much happened today. '.repeat(2_000)}Then we saw a walrus.`
    expect(isGrounded('a walrus', evidenceOf([long]))).toBe(true)
    expect(isGrounded('a walrus', evidenceOf([]))).toBe(false)
    expect(isGrounded('the', evidenceOf(['the']))).toBe(false)
  })
})
