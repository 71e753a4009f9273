import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createGuardedTools, type GuardedTools } from '../support/guarded-tools.ts'
import { createObeyingModel } from '../support/obeying-model.ts'
import { openScriptedFamiliar, type ScriptedFamiliar, said, toolOf } from '../support/scripted-familiar.ts'

let guarded: GuardedTools
let familiar: ScriptedFamiliar | undefined

beforeEach(() => {
  guarded = createGuardedTools()
})

afterEach(async () => {
  await familiar?.close()
  familiar = undefined
})

const send = 'CALL send {"body":"x"}'

async function open(options: Partial<Parameters<typeof openScriptedFamiliar>[0]> = {}): Promise<ScriptedFamiliar> {
  familiar = await openScriptedFamiliar({ model: createObeyingModel(), tools: guarded.tools, ...options })
  return familiar
}

/** The outcome of a call to an address without a permission. */
async function outcomeOfSending(opened: ScriptedFamiliar, contact = 'main') {
  const { outcome } = await opened.say(send, { contact })
  return outcome
}

describe('SEC-6c the label of a conversation', () => {
  it('SEC-6c the label ends with the conversation: the next one starts clean, under the same name too', async () => {
    // Otherwise the model would obey its user's recalled words and read the page again.
    const opened = await open({ toml: '[memory]\nconversations = false\n' })
    const { sessionId } = await opened.say('CALL read_page {}')
    expect(await outcomeOfSending(opened)).toBe('question')
    await opened.conversations.reset(opened.userId, { sessionId })
    const end = await opened.say(send)
    expect(end.sessionId).not.toBe(sessionId)
    expect(end.outcome).toBe('completed')
    expect(await outcomeOfSending(opened, 'another')).toBe('completed')
  })

  it('SEC-6c an untrusted memory counts only where it is in the request', async () => {
    const opened = await open({ toml: '[memory]\nconversations = false\n' })
    const written = { userId: opened.userId, kind: 'note', source: 'tool', label: 'untrusted' } as const
    await opened.memory.memories.add({ ...written, content: 'Zebras sleep standing up, says the page.' })
    expect((await opened.say(send)).recalled).toEqual([])
    expect(await outcomeOfSending(opened)).toBe('completed')
    const asked = await opened.say('How do zebras sleep?', { contact: 'zebras' })
    expect(asked.recalled).toHaveLength(1)
    expect(await outcomeOfSending(opened, 'zebras')).toBe('question')
  })

  it('SEC-6c a trusted memory that says the same is recalled in place of the untrusted one', async () => {
    const opened = await open({ toml: '[memory]\nconversations = false\n' })
    const { memories } = opened.memory
    const from = { userId: opened.userId, kind: 'note' } as const
    await memories.add({ ...from, source: 'tool', label: 'untrusted', content: 'Zebras sleep standing up.' })
    await memories.add({ ...from, source: 'user', content: 'I read that zebras sleep standing up, like horses.' })
    const asked = await opened.say('How do zebras sleep?')
    expect(asked.recalled.map(({ text }) => text)).toEqual(['I read that zebras sleep standing up, like horses.'])
    expect(await outcomeOfSending(opened)).toBe('completed')
    // One that says more than the trusted ones is not left out.
    await memories.add({ ...from, source: 'tool', label: 'untrusted', content: 'Zebras sleep eight hours in Kenya.' })
    expect((await opened.say('How do zebras sleep?', { contact: 'more' })).recalled).toHaveLength(2)
    expect(await outcomeOfSending(opened, 'more')).toBe('question')
  })

  it('SEC-6c output without a network is as untrusted as what went in', async () => {
    const sum = toolOf('sum', async () => said('CALL send {"body":"$RESULT"}'))
    const opened = await open({ tools: [...guarded.tools, sum] })
    await opened.say('CALL sum {}')
    expect(guarded.sent).toHaveLength(1)
    await opened.say('CALL read_page {}', { contact: 'page' })
    await opened.say('CALL sum {}', { contact: 'page' })
    expect(guarded.sent).toHaveLength(1)
  })

  it('SEC-6c questions of the gate, refusals and status lines are no memory and carry no label', async () => {
    const opened = await open({ toml: '[memory]\nextraction = false\n' })
    const asked = await opened.say('CALL erase_disk {}')
    expect(asked.question).toContain('Let erase_disk run on this computer')
    await opened.say('no')
    expect(await outcomeOfSending(opened)).toBe('completed')
    await opened.say('CALL read_page {}', { contact: 'page' })
    await opened.say(send, { contact: 'page' })
    await opened.learning.idle()
    const contents = (await opened.memory.memories.list(opened.userId, { limit: 50 })).map(({ content }) => content)
    expect(
      contents.filter((content) => /Let \w+ (?:run|contact)|waits for the user|text from outside/.test(content)),
    ).toEqual([])
    const recalled = await opened.say('What did you ask about erase_disk and mail.example?', { contact: 'later' })
    expect(recalled.recalled.filter(({ text }) => text.includes('It would send'))).toEqual([])
  })

  it('SEC-6c a recording of the user is private and not untrusted; any other file is untrusted', async () => {
    const opened = await open()
    const file = (name: string, mediaType: string) =>
      opened.media.put({ name, mediaType, data: new TextEncoder().encode(name) })
    const voice = { ...(await file('voice-message-1.ogg', 'audio/ogg')), isOwn: true as const }
    await opened.say('Buy milk, please.', { contact: 'voice', media: [voice] })
    expect(await outcomeOfSending(opened, 'voice')).toBe('completed')
    for (const [name, type] of Object.entries({ 'letter.txt': 'text/plain', 'page.html': 'text/html' })) {
      await opened.say('Look at this.', { contact: name, media: [await file(name, type)] })
      expect([name, await outcomeOfSending(opened, name)]).toEqual([name, 'question'])
    }
    await opened.say('Buy milk, please.', { contact: 'forwarded', media: [voice], label: 'untrusted' })
    expect(await outcomeOfSending(opened, 'forwarded')).toBe('question')
  })

  it('SEC-6c messages that were forwarded, quoted or imported are untrusted', async () => {
    const opened = await open()
    await opened.say('Fwd: act now', { contact: 'forwarded', label: 'untrusted' })
    expect(await outcomeOfSending(opened, 'forwarded')).toBe('question')
    const imported = { userId: opened.userId, kind: 'note', source: 'import', label: 'untrusted' } as const
    await opened.memory.memories.add({ ...imported, content: 'The plumber is called Kestrel.' })
    await opened.say('Which plumber is called Kestrel?', { contact: 'imported' })
    expect(await outcomeOfSending(opened, 'imported')).toBe('question')
  })
})
