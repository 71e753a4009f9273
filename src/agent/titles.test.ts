import { afterEach, describe, expect, it } from 'vitest'
import { openScriptedFamiliar, type ScriptedFamiliar } from '../../test/support/scripted-familiar.ts'
import { createScriptedModel, type Script } from '../../test/support/scripted-model.ts'
import { cleanTitle } from './titles.ts'

const opened: ScriptedFamiliar[] = []

afterEach(async () => {
  for (const familiar of opened.splice(0)) await familiar.close()
})

const question = 'Which trains from Ghent to Bruges can take a bicycle on a Sunday?'

async function open({ script = () => ({ text: '"Bicycles on trains."' }), routes = 'fast = "offline/offline"' } = {}) {
  const primary = createScriptedModel({ script: () => ({ text: 'All of them.' }) })
  const fast = createScriptedModel({ script: script as Script, info: { id: 'scripted/fast' } })
  const toml = `[memory]\nextraction = false\n[routes]\n${routes}\n`
  const familiar = await openScriptedFamiliar({ model: { primary: [primary], fast: [fast] }, toml })
  opened.push(familiar)
  async function title(contact = 'main') {
    const session = (await familiar.conversations.sessions(familiar.userId)).find((one) => one.contact === contact)
    return session && (await familiar.views.show([session]))[0]?.title
  }
  return { familiar, fast, title }
}

describe('titles', () => {
  it('PAGE-11 the fast model titles a conversation once, after its first answer', async () => {
    const { familiar, fast, title } = await open()
    await familiar.say(question)
    await expect.poll(() => title()).toBe('Bicycles on trains')
    expect(JSON.stringify(fast.requests[0]?.messages)).toContain('All of them.')
    await familiar.say('And on a Monday?')
    await familiar.titles.close()
    expect(fast.requests).toHaveLength(1)
  })

  it('PAGE-11 the title of the user stays, and a failed one leaves the start of the message', async () => {
    const { familiar, title } = await open({ script: () => ({ text: '' }) })
    const { sessionId } = await familiar.say(question)
    await familiar.titles.close()
    expect(await title()).toBe(question)
    await familiar.views.setTitle(sessionId, 'Mine')
    await familiar.views.setGeneratedTitle(sessionId, 'Bicycles')
    expect(await title()).toBe('Mine')
    await familiar.views.setTitle(sessionId, '')
    expect(await title()).toBe('Bicycles')
  })

  it('PAGE-11 SESS-12 no model is asked for a short message, a private conversation, or without a fast model', async () => {
    const { familiar, fast } = await open()
    await familiar.say('Hello there', { contact: 'short' })
    await familiar.say('x', { contact: 'private' })
    await familiar.database.write((writer) => writer.updateTable('sessions').set({ remembered: 0 }).execute())
    await familiar.say(question, { contact: 'private' })
    await familiar.say(question, { contact: 'nightly', source: 'cron' })
    await familiar.titles.close()
    expect(fast.requests).toHaveLength(0)
    const without = await open({ routes: '' })
    await without.familiar.say(question)
    await without.familiar.titles.close()
    expect(without.fast.requests).toHaveLength(0)
  })

  it.each([
    ['"Bicycles on trains."', 'Bicycles on trains'],
    ['# Title\nmore', 'Title'],
    ['Title: **Trains**', 'Trains'],
    ['„Züge“', 'Züge'],
    [' \n', ''],
    ['a'.repeat(81), ''],
  ])('PAGE-11 %j becomes the title %j', (text, title) => {
    expect(cleanTitle(text)).toBe(title)
  })
})
