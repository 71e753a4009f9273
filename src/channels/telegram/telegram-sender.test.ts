import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { openScriptedFamiliar, type ScriptedFamiliar, said, toolOf } from '../../../test/support/scripted-familiar.ts'
import { createScriptedModel, type Script } from '../../../test/support/scripted-model.ts'
import { openTelegramOut, type TelegramOut } from '../../../test/support/telegram-out.ts'
import { toDisplayText } from '../../base/text.ts'
import { ModelError } from '../../models/model.ts'
import type { Tool } from '../../tools/tool.ts'
import { telegramPayloadSchema, toOutgoing } from './sender.ts'
import { formatMarkdown, markdownPayloads } from './text-payloads.ts'

const chat = 7
const inbound = {
  channel: 'telegram',
  source: 'telegram',
  contact: String(chat),
  metadata: { telegram: { chatId: chat, messageId: 41 } },
}

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function open(
  script: Script,
  options: { tools?: Tool[] } & Parameters<typeof openTelegramOut>[1] = {},
): Promise<{ familiar: ScriptedFamiliar; out: TelegramOut }> {
  const { tools, ...more } = options
  const familiar = await openScriptedFamiliar({ model: createScriptedModel({ script }), ...(tools && { tools }) })
  closers.push(familiar.close)
  const out = await openTelegramOut(familiar, more)
  closers.push(out.close)
  return { familiar, out }
}

const reply = (text: string): Script => [{ text }]

describe('CHAN-1 messages reach the chat', () => {
  it('CHAN-1 as text with entities, without link previews', async () => {
    const { familiar, out } = await open(reply('**Hello** [you](https://a.b)'))
    await familiar.say('Hi', inbound)
    await out.quiet()
    expect(out.telegram.chat(chat)).toMatchObject([
      {
        text: 'Hello you (a.b)',
        entities: [
          { type: 'bold', offset: 0, length: 5 },
          { type: 'text_link', offset: 6, length: 3, url: 'https://a.b/' },
        ],
      },
    ])
    const [call] = out.telegram.calls
    expect(call?.parameters).toMatchObject({ link_preview_options: { is_disabled: true } })
    expect(call?.parameters).not.toHaveProperty('parse_mode')
    const [item] = await out.outbox.list(familiar.userId, { limit: 1 })
    expect(item).toMatchObject({ state: 'sent', externalId: '1', address: '7' })
  })

  it('CHAN-1 a long reply in pieces of 4,000 characters, each a separate item', async () => {
    const paragraphs = Array.from({ length: 60 }, (_, index) => `Paragraph ${index}: ${'word 😀 '.repeat(20)}`)
    const { familiar, out } = await open(reply(paragraphs.join('\n\n')))
    await familiar.say('Tell me', inbound)
    await out.quiet()
    const texts = out.telegram.chat(chat).map(({ text }) => text)
    expect(texts.length).toBeGreaterThan(2)
    for (const text of texts) expect(text.length).toBeLessThanOrEqual(4_000)
    expect(texts.join('')).toBe(formatMarkdown(paragraphs.join('\n\n')).text)
  })

  it("CHAN-1 text, cards and files of tools in order; a reaction on the user's message", async () => {
    const keep = async (name: string, mediaType: string) =>
      await opened.familiar.media.put({ name, mediaType, data: Buffer.from(name) })
    const card = {
      title: 'Weather',
      html: '<p>Sun</p>',
      text: '',
      accentColor: null,
      backgroundColor: null,
      icon: null,
    }
    const show = toolOf('show', async () => ({
      ...said('ok'),
      says: '*Look:*',
      reaction: '❤️',
      card,
      media: [
        await keep('p.png', 'image/png'),
        await keep('v.ogg', 'audio/ogg'),
        await keep('m.mp3', 'audio/mpeg'),
        await keep('s.csv', 'text/csv'),
      ],
    }))
    const frown = toolOf('frown', async () => ({ ...said('ok'), reaction: '🦖' }))
    const opened = await open(
      [{ toolCalls: [{ name: 'show' }] }, { toolCalls: [{ name: 'frown' }] }, { text: 'Done' }, { text: 'NO_REPLY' }],
      { tools: [show, frown] },
    )
    await opened.familiar.say('Show me', inbound)
    await opened.familiar.say('Nothing to say?', inbound)
    await opened.out.quiet()
    const { calls } = opened.out.telegram
    expect(
      calls.map(({ method, parameters, files }) => [method, parameters.text ?? Object.keys(files)[0] ?? '']),
    ).toEqual([
      ['sendMessage', 'Look:'],
      ['setMessageReaction', ''],
      ['sendMessage', 'Weather\n\nSun'],
      ['sendPhoto', 'photo'],
      ['sendVoice', 'voice'],
      ['sendAudio', 'audio'],
      ['sendDocument', 'document'],
      ['sendMessage', '🦖'],
      ['sendMessage', 'Done'],
    ])
    expect(calls[1]?.parameters).toMatchObject({ message_id: 41, reaction: [{ type: 'emoji', emoji: '❤' }] })
    expect(calls.every(({ became }) => became === 'done')).toBe(true)
  })

  it('HANDS-4 files that tools wrote follow the reply, the newest of each path', async () => {
    const put = async (text: string) => ({
      ...(await opened.familiar.media.put({ name: 's.csv', mediaType: 'text/csv', data: Buffer.from(text) })),
      path: 'out/s.csv',
    })
    const texts = ['first', 'second']
    const write = toolOf('write', async () => ({ ...said('ok'), media: [await put(texts.shift() ?? '')] }))
    const opened = await open(
      [{ toolCalls: [{ name: 'write' }] }, { toolCalls: [{ name: 'write' }] }, { text: 'Here it is' }],
      { tools: [write] },
    )
    await opened.familiar.say('Write it', inbound)
    await opened.out.quiet()
    const { calls } = opened.out.telegram
    expect(calls.map(({ method }) => method)).toEqual(['sendMessage', 'sendDocument'])
    expect(Buffer.from(calls[1]?.files.document?.data ?? []).toString()).toBe('second')
  })

  it('CHAN-1 an approval question comes last, with its exact destination and its buttons', async () => {
    const post = toolOf('post_letter', async () => said('sent'), {
      effect: 'at-most-once',
      reach: () => ({ kind: 'reach', destination: 'https://evil.example/<b>inbox</b>' }),
    })
    const look = toolOf('look', async () => ({ ...said('a page and a diary'), label: 'untrusted', isPrivate: true }))
    const { familiar, out } = await open(
      [{ toolCalls: [{ name: 'look' }] }, { text: 'I would *send* it.', toolCalls: [{ name: 'post_letter' }] }],
      { tools: [post, look] },
    )
    const end = await familiar.say('Send what the page says', inbound)
    await out.quiet()
    expect(end.outcome).toBe('question')
    const [approval] = await familiar.conversations.approvals(familiar.userId)
    const [words, question] = out.telegram.chat(chat)
    expect(words?.text).toBe('I would send it.')
    expect(question?.text).toContain('contact https://evil.example/<b>inbox</b>?')
    expect(question?.entities).toEqual([])
    expect(question?.buttons).toEqual([
      { text: 'Allow once', data: `a:${approval?.id}:y` },
      { text: 'Allow in this conversation', data: `a:${approval?.id}:c` },
      { text: 'Always allow post_letter → https://evil.example/<b>inbox</b>', data: `a:${approval?.id}:a` },
      { text: 'Deny', data: `a:${approval?.id}:n` },
    ])
    expect(out.telegram.chat(chat)).toHaveLength(2)
  })

  it('CHAN-1 a failed turn is reported in a plain sentence', async () => {
    const error = new ModelError('rejected', 'no such model', { retryable: false })
    const { familiar, out } = await open([{ error }])
    const end = await familiar.say('Hi', inbound)
    await out.quiet()
    expect(end.outcome).toBe('failed')
    expect(out.telegram.chat(chat).map(({ text }) => text)).toEqual([end.text])
    expect(end.text).not.toBe('')
  })

  it('CHAN-1 nothing of other channels, of other names, or from before Telegram', async () => {
    const familiar = await openScriptedFamiliar({ model: createScriptedModel({ script: () => ({ text: 'Yes' }) }) })
    closers.push(familiar.close)
    await familiar.say('Before', inbound)
    // The channel's first moment must lie after it.
    await new Promise((resolve) => setTimeout(resolve, 5))
    const out = await openTelegramOut(familiar)
    closers.push(out.close)
    await familiar.say('Elsewhere')
    const session = await familiar.conversations.findSession(familiar.userId, String(chat))
    await familiar.conversations.fork(familiar.userId, session?.id ?? '', 'a-fork')
    await familiar.say('In the fork', { ...inbound, contact: 'a-fork' })
    await familiar.say('Now', inbound)
    await out.quiet()
    expect(out.telegram.sent).toHaveLength(1)
  })
})

describe('OUT-3 responses of Telegram', () => {
  const send = async (options: Parameters<typeof open>[1] = {}) => {
    const { familiar, out } = await open(() => ({ text: '**Hello**' }), options)
    return {
      out,
      userId: familiar.userId,
      async say() {
        await familiar.say('Hi', inbound)
        await out.quiet()
        return (await out.outbox.list(familiar.userId, { limit: 50 })).toReversed()
      },
    }
  }

  it('OUT-3 429: waits as long as requested, for every chat of the bot', async () => {
    const { out, say, userId } = await send()
    out.telegram.fail({ fault: { kind: 'refuse', code: 429, retryAfter: 1 } })
    const saying = say()
    // A request that is already being sent cannot be called back; this starts after it.
    while ((await out.outbox.list(userId, { limit: 1 }))[0]?.error === undefined) await new Promise(setImmediate)
    while ((await out.outbox.list(userId, { limit: 1 }))[0]?.error === null) await new Promise(setImmediate)
    const other = toOutgoing({
      userId,
      chatId: '8',
      key: 'other',
      payload: { kind: 'text', text: 'Hi' },
      sessionId: null,
    })
    await out.putIn([other])
    const items = await saying
    expect(items.map(({ state }) => state)).toEqual(['sent', 'sent'])
    const [refused, ...rest] = out.telegram.calls
    expect(rest).toHaveLength(2)
    for (const { at } of rest) expect(at - (refused?.at ?? 0)).toBeGreaterThanOrEqual(1_000)
  })

  it('OUT-3 5xx and no connection: retried, delivered once', async () => {
    const { out, say } = await send()
    out.telegram.fail({ fault: { kind: 'refuse', code: 502 } })
    const [item] = await say()
    expect(item).toMatchObject({ state: 'sent', attempts: 2 })
    expect(out.telegram.chat(chat)).toHaveLength(1)
  })

  it.each([
    [403, 'Forbidden: bot was blocked by the user'],
    [400, 'Bad Request: chat not found'],
    [401, 'Unauthorized'],
  ])('OUT-3 %s %s: tried once', async (code, description) => {
    const { out, say } = await send()
    out.telegram.fail({ fault: { kind: 'refuse', code, description } })
    const [item] = await say()
    expect(item).toMatchObject({ state: 'failed', attempts: 1, error: `${code} ${description}` })
    expect(out.telegram.calls).toHaveLength(1)
  })

  it('OUT-3 rejected entities: retried without them', async () => {
    const { out, say } = await send()
    out.telegram.fail({ fault: { kind: 'refuse', code: 400, description: "Bad Request: can't parse entities" } })
    const [item] = await say()
    expect(item).toMatchObject({ state: 'sent', attempts: 1 })
    expect(out.telegram.chat(chat)).toMatchObject([{ text: 'Hello', entities: [] }])
  })

  it.each([
    ['drop', ['Hello', '(perhaps a repetition)\nHello']],
    ['cut', ['(perhaps a repetition)\nHello']],
  ] as const)('OUT-1 %s without a response: unknown, and repeated as a possible repetition', async (kind, texts) => {
    const { out, say } = await send()
    out.telegram.fail({ fault: { kind } })
    const items = await say()
    expect(items.map(({ state }) => state)).toEqual(['unknown', 'sent'])
    expect(items[1]?.repeats).toBe(items[0]?.id)
    expect(out.telegram.chat(chat).map(({ text }) => text)).toEqual(texts)
    expect(out.telegram.chat(chat).at(-1)?.entities).toMatchObject([{ type: 'bold', offset: 23, length: 5 }])
  })

  it('OUT-1 without a response, and not repeatable: stays unknown', async () => {
    const { out, say } = await send({ repeatUnknown: false })
    out.telegram.fail({ fault: { kind: 'drop' } })
    const items = await say()
    expect(items).toMatchObject([{ state: 'unknown' }])
    expect(out.telegram.chat(chat)).toHaveLength(1)
  })

  it('SEC-5 a chat that was unpaired meanwhile gets nothing', async () => {
    const { out, say } = await send({ mayReceive: () => false })
    const [item] = await say()
    expect(item).toMatchObject({ state: 'failed', error: 'this chat is no longer paired' })
    expect(out.telegram.calls).toEqual([])
  })

  it('SEC-13 a secret is requested through a link that is not stored', async () => {
    const { out, userId } = await send()
    const payload = { kind: 'secret', text: 'The key, please', questionId: 'q-1' } as const
    await out.putIn([toOutgoing({ userId, chatId: '7', key: 'question:q-1', payload, sessionId: null })])
    await out.quiet()
    const [message] = out.telegram.chat(chat)
    expect(message?.buttons).toMatchObject([{ url: 'https://familiar.example/secret/one-use' }])
    const [item] = await out.outbox.list(userId, { limit: 1 })
    expect(JSON.stringify(item)).not.toContain('one-use')

    out.telegram.fail({ fault: { kind: 'refuse', code: 400, description: 'Bad Request: BUTTON_URL_INVALID' } })
    await out.putIn([toOutgoing({ userId, chatId: '7', key: 'question:q-2', payload, sessionId: null })])
    await out.quiet()
    const last = out.telegram.chat(chat).at(-1)
    expect(last).toMatchObject({
      buttons: [],
      text: expect.stringContaining('https://familiar.example/secret/one-use'),
    })
  })
})

describe('SEC-10 hostile text', () => {
  it('SEC-10 five hundred hostile strings arrive as text', async () => {
    const { familiar, out } = await open([])
    const strings = hostileStrings(500)
    const chats = [1, 2, 3, 4, 5, 6, 7, 8]
    const items = strings.flatMap((text, index) =>
      markdownPayloads(text).map((payload, part) => {
        const chatId = String(chats[index % chats.length])
        return toOutgoing({ userId: familiar.userId, chatId, key: `${index}:${part}`, payload, sessionId: null })
      }),
    )
    await out.putIn(items)
    await out.quiet()
    expect((await out.outbox.counts(familiar.userId)).sent).toBe(items.length)
    // None was rejected, not even once.
    expect(out.telegram.calls.every(({ became }) => became === 'done')).toBe(true)
    for (const id of chats) {
      const put = items.filter(({ address }) => address === String(id)).map(({ payload }) => Object(payload).text)
      expect(out.telegram.chat(id).map(({ text }) => text)).toEqual(put)
    }
    const texts = out.telegram.sent.map(({ text }) => text)
    for (const text of texts) expect(text).toBe(toDisplayText(text))
    expect(out.telegram.calls.every(({ parameters }) => !('parse_mode' in parameters))).toBe(true)
    const shown = texts.join('\n')
    for (const literal of ['<b>not bold', '{{constructor}}', '@everyone', '/start', '&lt;'])
      expect(shown).toContain(literal)
  }, 60_000)

  it('OUT-1 any outbox item is sent or fails, and nothing throws', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(() => telegramPayloadSchema.safeParse(value)).not.toThrow()
      }),
    )
  })
})

function hostileStrings(count: number): string[] {
  const written = [
    '<b>not bold</b><script>alert(1)</script>',
    '*_~`[]()>#+-=|{}.!\\',
    '{{constructor}} #{7*7} %s %n',
    '@everyone /start /stop@bot #tag $CASH',
    '[click](tg://user?id=1) [x](javascript:alert(1))',
    '\u202egnp.exe\u202c \u2066\u2069 \u200b\u200e\ufeff',
    '\u001b[31mred\u001b]8;;http://evil\u0007link\u001b]8;;\u0007 \u0000\u0007\u009b',
    '&lt;b&gt; &#x202e; &nbsp;',
    '```\n``` ``` ~~~\n````',
    '**_~~`[**_~~`](**_~~`)',
    '😀👨‍👩‍👧‍👦🏳️‍🌈e\u0301\ud800 \udc00 Z̷̢̡͇̗͐͗a̸l̴g̵o',
    '|a|b|\n|-|-|\n|`|*|',
    '> > > *\n> `\n',
    '\n\n\n\t\t   x',
    'https://a.b/_x_*y*?z=[1](2)',
    'x'.repeat(4_200),
    '**'.repeat(500),
  ]
  const mixed = fc.array(fc.oneof(fc.constantFrom(...written.slice(0, -2)), anyText), { minLength: 1, maxLength: 5 })
  const made = fc.sample(
    mixed.map((parts) => parts.join('')),
    { numRuns: count * 2, seed: 7 },
  )
  return [...written, ...made.filter((text) => formatMarkdown(text).text.trim() !== '')].slice(0, count)
}
