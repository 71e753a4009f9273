import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openRecallStore } from '../../../test/support/recall-store.ts'
import type { NewMemory } from '../memory.ts'
import { splitPassages } from '../words.ts'
import { removeGateQuestions } from './gate-questions.ts'

let store: Awaited<ReturnType<typeof openRecallStore>>
beforeEach(async () => {
  store = await openRecallStore()
})
afterEach(() => store.close())

/** As earlier versions asked. */
const ask = (text: string) =>
  `May I call send_mail to https://mail.example, with ${JSON.stringify({ text })}? ` +
  'I have read text of others here, and know what is private to you. Yes or no?'

/** As older versions stored the model's words. */
async function kept(content: string, change: Partial<NewMemory> = {}): Promise<void> {
  const line = { threadId: 'old/1', position: 2, turnId: 'turn-1', speaker: 'assistant' }
  const isPassage = (change.kind ?? 'chunk') === 'chunk'
  const memory = { kind: 'chunk' as const, source: 'extracted' as const, label: 'untrusted' as const }
  await store.note(content, { ...memory, ...(isPassage && line), ...change })
}

const contents = async () => (await store.memories.list('max', { limit: 100 })).map(({ content }) => content).toSorted()

describe('approval questions in a home of an older version', () => {
  it('SEC-15 are not recalled, whatever kind of memory they were stored as', async () => {
    await kept(ask('The invoice of the plumber'))
    await kept(`Familiar asked: ${ask('The invoice of the plumber')}`, { kind: 'episode' })
    await kept(`the plumber: ${ask('The invoice of the plumber')}`, { kind: 'fact' })
    await store.note('The plumber sent his invoice in March')
    const own = `Why do you ask me "${ask('The invoice of the plumber')}"`
    await kept(own, { speaker: 'user', label: 'owner' })
    expect((await store.ask('What about the invoice of the plumber?')).toSorted()).toEqual(
      ['The plumber sent his invoice in March', own].toSorted(),
    )
  })

  it("SEC-15 are removed from memory once, and the model's other words stay", async () => {
    const long = `I write to the plumber first.\n\n${ask('The invoice. '.repeat(90))}`
    const pieces = splitPassages(long)
    expect(pieces.length).toBeGreaterThan(1)
    for (const piece of pieces) await kept(piece, { passages: pieces.length })
    await kept(`The garden needs water.\n\n${ask('Water it')}`, { position: 4, turnId: 'turn-2' })
    await kept(ask('Nothing else'), { position: 6, turnId: 'turn-3' })
    await kept(`Familiar asked: ${ask('The invoice')}`, { kind: 'episode' })
    await store.note('Ask me "May I call Ruth, with love? Yes or no?"')
    const { database, memories, clock } = store
    await removeGateQuestions({ database, memories, now: clock.now }, 'max')
    const left = [
      'Ask me "May I call Ruth, with love? Yes or no?"',
      'I write to the plumber first.',
      'The garden needs water.',
    ]
    expect(await contents()).toEqual(left)
    expect(await store.ask('Does the garden need water?')).toContain('The garden needs water.')
    expect(await store.ask('Which plumber?')).toContain('I write to the plumber first.')
    await kept(ask('Later'), { position: 8, turnId: 'turn-4' })
    expect(await removeGateQuestions({ database, memories, now: clock.now }, 'max')).toBe(0)
    expect(await contents()).toHaveLength(4)
  })
})
