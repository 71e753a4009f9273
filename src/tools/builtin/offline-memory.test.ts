import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type MemoryStore, openMemoryStore } from '../../../test/support/memory-store.ts'
import { type OfflineTalk, openOfflineTalk } from '../../../test/support/offline-talk.ts'

const dayMs = 86_400_000

let store: MemoryStore
let talk: OfflineTalk
let send: OfflineTalk['send']

beforeEach(async () => {
  store = await openMemoryStore()
  talk = openOfflineTalk(store)
  send = talk.send
})

afterEach(() => store.close())

describe('facts without a language model', () => {
  it('MEM-10 answers by attribute, under any name, with the citation', async () => {
    await send("My sister Anna's birthday is 5 May")
    await send('Anna is short for Annabel')
    for (const question of ["When is Anna's birthday?", "when is my sister's birthday", 'When was Annabel born?']) {
      expect(await send(question)).toMatch(/birthday is 5 May\. \(Known since 15 November 2026\.\) \[memory:[\w-]+\]$/)
    }
    expect(await send('Who is my sister?')).toMatch(/^Your sister is Anna/)
  })

  it('MEM-10 falls back to notes if there is no such fact', async () => {
    await send('Remember that my locker code is 4711')
    expect(await send('What is my locker code?')).toMatch(
      /^You told me on 15 November 2026: “my locker code is 4711”. \[memory:\w+\]$/,
    )
    await store.clock.advance(dayMs)
    await send('Remember that my locker code is 5822')
    expect(await send('What is my locker code?')).toMatch(/^You told me on 16 November 2026: “my locker code is 5822”/)
  })

  it('MEM-10 a replaced value is not reported as true, and reported as history when asked', async () => {
    await send('My address is 1 Rose Lane')
    await store.clock.advance(30 * dayMs)
    await send('My address is 5 Oak Street')
    const now = await send('What is my address?')
    expect(now).toMatch(/^Your address is 5 Oak Street\./)
    expect(now).not.toContain('Rose')
    const before = await send('What was my address before?')
    expect(before).toMatch(/^Until 15 December 2026: “Your address is 1 Rose Lane”\. \[memory:[\w-]+\]$/)
    expect(await send('What was my address in November?')).toContain('1 Rose Lane')
  })

  it('MEM-10 names both people who share a name', async () => {
    await send('Anna Miller’s birthday is 5 May')
    await send('Anna Berg’s birthday is 1 June')
    const answer = await send("When is Anna's birthday?")
    expect(answer).toContain('Anna Miller’s birthday is 5 May')
    expect(answer).toContain('Anna Berg’s birthday is 1 June')
  })

  it('MEM-10 counts and lists people', async () => {
    await send('Bea is a marine biologist. Tom works as a marine biologist at NOAA. Eva is a biologist.')
    await send('I am a marine biologist')
    const answer = await send('How many people do I know who are marine biologists?')
    expect(answer).toMatch(/^2, as far as I know: (?:Tom|Bea) \[memory:[\w-]+\], (?:Tom|Bea) \[memory:[\w-]+\]$/)
    await send('Tom lives in Rome')
    expect(await send('Who lives in Rome?')).toMatch(/^1, as far as I know: Tom \[/)
    await send('I have two cats called Tigger and Tom')
    expect(await send('How many cats do I have?')).toMatch(/^2, as far as I know/)
    expect(await send('How many people do I know who are violinists?')).toContain('know nothing about that')
  })
})

describe('changed facts without a language model', () => {
  it('MEM-8 answers with the current value, and ends an outdated one', async () => {
    await send('I live in Berlin')
    await send('I moved: I live in Hamburg now.')
    const now = await send('Where do I live?')
    expect(now).toContain('Hamburg')
    expect(now).not.toContain('Told since')
    expect(now).not.toContain('Berlin')
    await send('I am vegetarian')
    await send('I am not vegetarian any more')
    const diet = await send('Am I vegetarian?')
    expect(diet).toContain('not vegetarian any more')
    expect(diet).not.toContain('“I am vegetarian”')
  })

  it('OFFLINE-2 a question without a matching note is never answered with an unrelated note', async () => {
    await send('I live in Berlin')
    await send('My sister Anna likes cake')
    for (const question of ['What is the weather in Berlin?', 'When is the wedding of Anna?', 'How tall is Everest?']) {
      const answer = await send(question)
      expect(answer, question).toContain('I know nothing about that')
      expect(answer, question).not.toContain('[memory:')
    }
  })

  it('OFFLINE-4 calculates, tells the time, and says how to connect a model', async () => {
    await send('I have 12 chairs')
    expect(await send('What is 12 * (3 + 4)?')).toBe('12 * (3 + 4) = 84')
    expect(await send('17 % of 80')).toBe('17 % of 80 = 13.6')
    expect(await send('What time is it?')).toBe('It is today.')
    expect(await send('How do I give you a model?')).toContain('familiar setup')
  })
})

describe('promises without a language model', () => {
  it('MEM-6 reports what is owed to whom and by when, and closes it', async () => {
    await send('My sister is called Anna')
    await send('I promised my sister to send her the photos by Friday')
    await send('I owe Tom 20 euros')
    const owed = await send('What do I still owe my sister?')
    expect(owed).toMatch(
      /^What is open:\n- You owe Anna: send her the photos \(due 20 November 2026\)\. \[memory:[\w-]+\]$/,
    )
    const all = await send('What have I promised?')
    expect(all).toContain('photos')
    expect(all).toContain('You owe Tom: 20 euros.')
    expect(await send('Mark the photos as done')).toMatch(/^Now done:\n- You owe Anna/)
    expect(await send('What have I promised?')).not.toContain('photos')
    await send('Tom owes me a book')
    expect(await send('What does Tom owe me?')).toContain('Tom owes you: a book.')
    expect(await send('What do I owe Eva?')).toContain('nothing open')
  })
})

describe('days without a language model', () => {
  it('MEM-3 reports what was said in a time', async () => {
    await send('Remember that the kitchen will be blue')
    await store.clock.advance(7 * dayMs)
    await send('Remember that I like tea')
    const lastWeek = await send('What did I tell you last week?')
    expect(lastWeek).toMatch(
      /^From that time I have:\n- “the kitchen will be blue” \(15 November 2026\) \[memory:\w+\]$/,
    )
    expect(await send('What did I tell you about the kitchen last week?')).toContain('blue')
    expect(await send('What did I tell you in March?')).toMatch(/^I have nothing from that time\./)
  })

  it('MEM-3 reports decisions', async () => {
    const at = Date.UTC(2026, 4, 10)
    await store.database.write((writer) =>
      talk.episodes.addIn(writer, {
        userId: 'max',
        summary: 'They talked about colours for the kitchen and the hall.',
        topics: ['kitchen'],
        decisions: ['the kitchen will be painted blue'],
        tone: null,
        startedAt: at,
        endedAt: at,
        source: 'extracted',
      }),
    )
    expect(await send('What did we decide about the kitchen in May?')).toContain(
      '“Decided: the kitchen will be painted blue” (10 May 2026)',
    )
  })
})

describe('corrections without a language model', () => {
  it('MEM-11 forgets by words, by reference and by citation; undo restores it', async () => {
    const noted = await send('Remember that I like tea')
    expect(await send('Forget that I like tea')).toMatch(/^Forgotten\. \[memory:\w+\]/)
    expect(await send('What do I like?')).toContain('know nothing about that')
    expect(await send('Undo that')).toContain('“I like tea”')
    expect(await send('What do I like?')).toMatch(/tea/)
    const citation = /\[memory:\w+\]/.exec(noted)?.[0] ?? ''
    expect(await send(`Forget ${citation}`)).toMatch(/^Forgotten\./)
    expect(await send('Forget the moon')).toContain('no note about that')
  })

  it('MEM-11 asks which one, and asks before it forgets a referenced memory', async () => {
    await send('Remember that Anna likes cake')
    await send('Remember that Anna hates olives')
    expect(await send('Forget my note about Anna')).toMatch(/^Several notes match\./)
    await send('Remember that the bin goes out on Tuesday')
    const question = await send('Forget that')
    expect(question).toMatch(/“the bin goes out on Tuesday” \[memory:\w+\] Should I forget it\?$/)
    expect(await send('no')).toContain('nothing was changed')
    expect(await send('When does the bin go out?')).toContain('Tuesday')
    await send('Forget that')
    expect(await send('Yes, please')).toMatch(/^Forgotten\./)
    expect(await send('When does the bin go out?')).toContain('know nothing about that')
  })

  it('MEM-11 facts are forgotten with their note, and the note is asked about when a fact is forgotten', async () => {
    await send('Remember that my sister Anna lives in Rome')
    expect(await send('Forget that Anna lives in Rome')).toMatch(/^Forgotten\./)
    expect(await send('Where does Anna live?')).not.toContain('Rome')
    expect(await send('Undo that')).toContain('Rome')
    expect(await send('Where does Anna live?')).toMatch(/^Anna lives in Rome\. /)
    // Referenced, the fact is forgotten as the agent's own; the note is the user's.
    expect(await send('Forget that')).toMatch(/“my sister Anna lives in Rome” \[memory:\w+\] Should I forget it\?$/)
    expect(await send('Yes')).toMatch(/^Forgotten\./)
    expect(await send('Where does Anna live?')).not.toContain('Rome')
  })

  it('MEM-11 corrects the last answer', async () => {
    await send('Remember that my shoe size is 42')
    expect(await send('What is my shoe size?')).toContain('42')
    expect(await send('That is wrong: my shoe size is 43')).toMatch(/^Corrected: “my shoe size is 43”\. \[memory:/)
    expect(await send('What is my shoe size?')).toContain('43')
    // The fact extracted from the note is corrected with it.
    expect(await send('List my notes')).toContain('“my shoe size is 43”')
    expect(await send('That is wrong')).toContain('What is correct?')
    expect(await send('Undo that')).toContain('42')
    expect(await send('What is my shoe size?')).toContain('42')
    expect(await send('List my notes')).toContain('“my shoe size is 42”')
  })
})
