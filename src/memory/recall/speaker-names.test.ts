import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { type MemoryStore, openMemoryStore } from '../../../test/support/memory-store.ts'
import { createEmbeddingText } from './meaning.ts'
import { createKnownSpeakers, speakerNames } from './window-words.ts'

describe('speakerNames', () => {
  it('MEM-3 finds names as separate words, in any case, once each', () => {
    const names = speakerNames(['Anna', 'Anna Maria', 'Bo'])
    expect(names.in("What did anna say about BO's dog, Anna?")).toEqual(['Anna', 'Bo'])
    expect(names.in('Anna Maria and Hannah went by boat to Annapolis')).toEqual(['Anna Maria'])
    expect(names.in('Bob, Susanna, 2Bo, Boß')).toEqual([])
  })

  it('MEM-3 removes names from a text, unless nothing else is left', () => {
    const names = speakerNames(['Anna', 'Bo'])
    expect(names.takenOut("Anna: I like Bo’s  dog and Anna's cat")).toBe('I like dog and cat')
    expect(names.takenOut('I like the dog')).toBe('I like the dog')
    expect(names.takenOut('Anna, Bo!')).toBe('Anna, Bo!')
  })

  it('MEM-3 does not treat the user and the assistant as names', () => {
    const names = speakerNames(['user', 'Assistant', ' '])
    expect(names.in('the user asked the assistant')).toEqual([])
    expect(names.takenOut('the  user asked the assistant')).toBe('the  user asked the assistant')
  })

  it.each(["O'Brien", 'Jean-Luc', 'Dr. Who', 'C++', 'a|b', '(', '\\', 'नमस्ते', 'Zoë', '🙂', '\ud800', 'x^$', '/[a]/'])(
    'MEM-3 accepts a name with signs: %s',
    (name) => {
      const names = speakerNames([name, 'Anna'])
      expect(names.in(`I met ${name} and Anna`)).toEqual([name, 'Anna'])
      expect(names.takenOut(`I met ${name} today`)).toBe('I met today')
      expect(names.in('I met Drs Who, ab, x, O and Brien')).toEqual([])
    },
  )

  it('MEM-3 accepts any names and any text', () => {
    fc.assert(
      fc.property(fc.array(anyText, { maxLength: 5 }), anyText, (people, text) => {
        const names = speakerNames(people)
        expect(people).toEqual(expect.arrayContaining(names.in(text)))
        expect(names.takenOut(text).length).toBeLessThanOrEqual(text.length)
      }),
    )
  })
})

describe('createKnownSpeakers', () => {
  let store: MemoryStore
  beforeEach(async () => {
    store = await openMemoryStore()
  })
  afterEach(() => store.close())

  async function say(userId: string, speaker: string): Promise<void> {
    await store.memories.add({ userId, kind: 'chunk', content: `${speaker} speaks`, source: 'import', speaker })
  }

  it("MEM-1 knows the speakers of one user's conversations only", async () => {
    await say('max', 'Anna')
    await say('max', 'assistant')
    await say('eve', 'Bo')
    const speakers = createKnownSpeakers({ database: store.database, now: store.clock.now })
    expect((await speakers.of('max')).in('Anna, Bo, assistant')).toEqual(['Anna'])
    expect((await speakers.of('eve')).in('Anna, Bo, assistant')).toEqual(['Bo'])
  })

  it('MEM-3 notices a new speaker after ten seconds', async () => {
    const speakers = createKnownSpeakers({ database: store.database, now: store.clock.now })
    expect((await speakers.of('max')).in('Anna')).toEqual([])
    await say('max', 'Anna')
    expect((await speakers.of('max')).in('Anna')).toEqual([])
    await store.clock.advance(10_000)
    expect((await speakers.of('max')).in('Anna')).toEqual(['Anna'])
  })

  it('MEM-3 retries after a failure', async () => {
    await say('max', 'Anna')
    const { database, clock } = store
    let isBroken = true
    const breaking = {
      ...database,
      get read() {
        if (isBroken) throw new Error('disk')
        return database.read
      },
    }
    const speakers = createKnownSpeakers({ database: breaking, now: clock.now })
    await expect(speakers.of('max')).rejects.toThrow('disk')
    isBroken = false
    expect((await speakers.of('max')).in('Anna')).toEqual(['Anna'])
  })

  it('MEM-15 embeds title and content without the names', async () => {
    await say('max', 'Anna')
    const embeddingText = createEmbeddingText(createKnownSpeakers({ database: store.database, now: store.clock.now }))
    const { memory } = await store.memories.add({
      userId: 'max',
      kind: 'note',
      title: "Anna's bike",
      content: 'Anna rides a red one',
      source: 'user',
    })
    expect(await embeddingText(memory)).toBe('bike rides a red one')
    expect(await embeddingText({ ...memory, title: null })).toBe('rides a red one')
    expect(await embeddingText({ ...memory, userId: 'eve', title: null })).toBe('Anna rides a red one')
  })
})
