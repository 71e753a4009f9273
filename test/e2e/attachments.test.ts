import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { TurnEvent } from '../../src/protocol/events.ts'
import { startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { type FakeTelegram, startFakeTelegram } from '../support/fake-telegram/start-fake-telegram.ts'
import { makeDocx, makeXlsx, makeZip } from '../support/made-office.ts'
import { makePdf } from '../support/made-pdf.ts'
import { startFamiliar } from '../support/running-familiar.ts'
import { type OpenAiScene, openOpenAiScene, pixel } from './openai-client-support.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const octets = 'application/octet-stream'
/** Each kind with words that occur in no other one. The media types are those of browsers and Telegram. */
const kinds: readonly { name: string; type: string; data: Uint8Array; words: string }[] = [
  { name: 'notes.txt', type: 'text/plain', data: Buffer.from('plain words of seven'), words: 'plain words of seven' },
  { name: 'page.md', type: octets, data: Buffer.from('# Markdown of eight'), words: 'Markdown of eight' },
  { name: 'table.csv', type: 'text/csv', data: Buffer.from('city,rain\nKiel,812\n'), words: 'Kiel,812' },
  { name: 'tree.json', type: 'application/json', data: Buffer.from('{"oak": 41}'), words: 'oak' },
  { name: 'run.py', type: 'text/x-python', data: Buffer.from('print("snake of ten")'), words: 'snake of ten' },
  { name: 'paper.pdf', type: 'application/pdf', data: makePdf(['A paper of eleven']), words: 'A paper of eleven' },
  { name: 'letter.docx', type: octets, data: makeDocx(['Dear Ruth'], ['left', 'right']), words: 'Dear Ruth' },
  { name: 'sums.xlsx', type: octets, data: makeXlsx([['rent', 950.5]]), words: '| rent | 950.5 |' },
]

async function open(toml = ''): Promise<OpenAiScene> {
  const scene = await openOpenAiScene({ toml })
  closers.push(scene.close)
  return scene
}

function attached({ name, type, data }: { name: string; type: string; data: Uint8Array }) {
  return { name, media_type: type, data: Buffer.from(data).toString('base64') }
}

/** The text that the model read, without JSON escapes. */
function textAsked({ fake }: Pick<OpenAiScene, 'fake'>): string {
  const { messages } = JSON.parse(fake.requests.at(-1)?.bytes ?? '{}') as { messages: { content: unknown }[] }
  return messages
    .flatMap(({ content }) => (Array.isArray(content) ? (content as { text?: string }[]) : [{ text: String(content) }]))
    .map(({ text = '' }) => text)
    .join('\n')
}

function sendFile(
  telegram: FakeTelegram,
  chat: number,
  { name, type, data }: { name: string; type: string; data: Uint8Array },
): void {
  telegram.addFile(name, data)
  telegram.say(chat, '', { document: { file_id: name, file_name: name, mime_type: type, file_size: data.length } })
}

function savedFiles(home: string): string[] {
  const folder = join(home, 'workspace', 'attachments')
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.includes('/'))
    .map((name) => name.split('/').at(-1) ?? '')
    .toSorted()
}

it('ASSET-6a text, code, PDF and Office files sent over HTTP are in the request and in the workspace', async () => {
  const scene = await open()
  scene.fake.reply({ text: 'read' })
  const reply = await scene.familiar.chat('What is in these?', { attachments: kinds.map(attached) })
  const asked = textAsked(scene)
  for (const { words } of kinds) expect(asked).toContain(words)
  expect(asked).not.toContain('Not shown')
  expect(savedFiles(scene.familiar.home)).toEqual(kinds.map(({ name }) => name).toSorted())
  expect(reply.attachments?.map(({ state }) => state)).toEqual(kinds.map(() => 'text'))
  const path = reply.attachments?.[0]?.path ?? ''
  expect(path).toMatch(/^attachments\/\d{4}-\d\d-\d\d\/notes\.txt$/)
  expect(readFileSync(join(scene.familiar.home, 'workspace', path), 'utf8')).toBe('plain words of seven')
  // In the next turn the model still has the words.
  scene.fake.reply({ text: 'again' })
  await scene.familiar.chat('And the letter?')
  expect(textAsked(scene)).toContain('Dear Ruth')
})

/** Written by LibreOffice, which locked one of them, and by qpdf. */
const realFile = (name: string) => ({
  name,
  type: octets,
  data: readFileSync(join(import.meta.dirname, '../support/office-files', name)),
})

it('ASSET-6a files of real programs are read completely', async () => {
  const scene = await open()
  scene.fake.reply({ text: 'read' })
  const names = ['garden.docx', 'garden.odt', 'rent.xlsx', 'restricted.pdf']
  const files = names.map((name) => attached(realFile(name)))
  const reply = await scene.familiar.chat('What is in these?', { attachments: files })
  expect(reply.attachments?.map(({ state }) => state)).toEqual(names.map(() => 'text'))
  const asked = textAsked(scene)
  for (const words of [
    '# Garden in spring',
    'We sow beans in April & water  daily.',
    '| Beans \\| runner | 3.40 |',
    'See the bean page. Grüße, 汉字, 🙂.',
    'Words in a box',
    '## Footnotes\n\nNot before the frost ends.',
    '## Comments\n\nAsk the neighbor first',
  ])
    expect(asked.split(words), words).toHaveLength(3)
  expect(asked).toContain('## Sheet: Rent')
  expect(asked).toContain('| 2026-03-04 | 950.5 | 1 |\n| Double | 1901 |')
  expect(asked).toContain('## Sheet: Second & last')
  // A password that only protects against changes does not prevent reading.
  expect(asked).toContain('A paper that is locked')
})

it('ASSET-6a files that OpenAI clients send are read the same way', async () => {
  const scene = await open()
  scene.fake.reply({ text: 'read' })
  const parts = kinds.map(({ name, type, data }) => ({
    type: 'file' as const,
    file: { filename: name, file_data: `data:${type};base64,${Buffer.from(data).toString('base64')}` },
  }))
  await scene.client.chat.completions.create({
    model: 'familiar',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'What is in these?' }, ...parts] }],
  })
  for (const { words } of kinds) expect(textAsked(scene)).toContain(words)

  scene.fake.reply({ text: 'read' })
  await scene.client.responses.create({
    model: 'familiar',
    input: [
      {
        role: 'user',
        content: kinds.map(({ name, type, data }) => ({
          type: 'input_file' as const,
          filename: name,
          file_data: `data:${type};base64,${Buffer.from(data).toString('base64')}`,
        })),
      },
    ],
  })
  for (const { words } of kinds) expect(textAsked(scene)).toContain(words)
})

const oldOffice = Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1])

it('ASSET-6b unreadable files are listed with the reason, and nothing else is lost', async () => {
  const scene = await open()
  scene.fake.reply({ text: 'ok' })
  const encrypted = Buffer.concat([oldOffice, Buffer.from('EncryptedPackage', 'utf16le')])
  const bomb = makeZip({ 'word/document.xml': Buffer.alloc(200_000_000, ' ') })
  const files = [
    { name: 'empty.txt', type: 'text/plain', data: Buffer.alloc(0) },
    { name: 'secret.docx', type: octets, data: encrypted },
    { name: 'broken.pdf', type: 'application/pdf', data: Buffer.from('%PDF-1.4 and then nothing') },
    { name: 'fake.pdf', type: 'application/pdf', data: Buffer.from([1, 0, 2, 0xff, 0xfe, 0]) },
    { name: 'bomb.docx', type: octets, data: bomb },
    { name: 'song.mp3', type: 'audio/mpeg', data: Buffer.from([0xff, 0xfb, 0x90, 0, 0, 0, 0, 1]) },
    { name: 'good.txt', type: 'text/plain', data: Buffer.from('the good words') },
  ]
  const reply = await scene.familiar.chat('Read these', { attachments: files.map(attached) })
  expect(reply.reply).toBe('ok')
  expect(reply.attachments?.map(({ note }) => note)).toEqual([
    'empty.txt is empty.',
    'secret.docx is encrypted; send it without a password.',
    'broken.pdf is damaged.',
    'fake.pdf is damaged, or is not a .pdf file.',
    'bomb.docx is too large to read, or damaged.',
    'song.mp3 was not transcribed: No transcription model is installed. To get one: familiar voice install --transcription.',
    'Sent as text.',
  ])
  expect(textAsked(scene)).toContain('the good words')
  expect(textAsked(scene)).toContain('Not shown: it is encrypted; send it without a password.')
}, 60_000)

it('ASSET-6b real files that are locked, torn, mislabeled or too long are named with the reason', async () => {
  const scene = await open()
  scene.fake.reply({ text: 'ok' })
  const files = [
    realFile('locked.pdf'),
    { ...realFile('locked.xlsx'), type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet' },
    { ...realFile('garden.odt'), name: 'half.odt', data: realFile('garden.odt').data.subarray(0, 9_000) },
    { name: 'letter.doc', type: 'application/msword', data: oldOffice },
    { name: 'picture.docx', type: octets, data: Buffer.from(pixel, 'base64') },
    { name: 'photos.zip', type: 'application/zip', data: makeZip({ 'a.jpg': 'x' }) },
    { ...realFile('garden.docx'), name: 'really-word.pdf', type: 'application/pdf' },
    { name: 'huge.txt', type: 'text/plain', data: Buffer.from('all work and no play\n'.repeat(100_000)) },
  ]
  const reply = await scene.familiar.chat('Read these', { attachments: files.map(attached) })
  expect(reply.attachments?.map(({ note }) => note)).toEqual([
    'locked.pdf is encrypted; send it without a password.',
    'locked.xlsx is encrypted; send it without a password.',
    'half.odt is damaged.',
    'letter.doc is in an old Office format; save it as .docx, .xlsx or .pptx.',
    // A picture is one, whatever it is called.
    '',
    'photos.zip is an archive; send the files in it.',
    'Sent as text.',
    expect.stringMatching(/^First [\d,]{5} of 100,000 lines sent as text; the rest is in attachments\/.*huge\.txt\.$/),
  ])
  expect(reply.attachments?.[4]).toMatchObject({ state: 'image' })
  expect(scene.lastAsked()).toContain(`data:image/png;base64,${pixel}`)
  expect(textAsked(scene)).toContain('Garden in spring')
  const tooLarge = attached({ name: 'film.txt', type: 'text/plain', data: Buffer.alloc(20_000_001, 'a') })
  await expect(scene.familiar.chat('Read', { attachments: [tooLarge] })).rejects.toThrow(/413.*larger than/)
}, 60_000)

it('ASSET-6a of a large file the start is sent, and file_read continues after it', async () => {
  const scene = await open('[assets]\nattachment_tokens = 500\n')
  const pages = Array.from({ length: 40 }, (_, at) => `Page ${at + 1} tells of ${'many small things '.repeat(5)}`)
  const pdf = { name: 'long.pdf', type: 'application/pdf', data: makePdf(pages) }
  scene.fake.reply({ text: 'ok' })
  const events: TurnEvent[] = []
  for await (const event of scene.familiar.stream('Read it', { attachments: [attached(pdf)] })) events.push(event)
  const shown = events.flatMap((event) => (event.type === 'message' ? (event.media ?? []) : []))[0]?.reading
  expect(shown).toMatchObject({ state: 'partial' })
  expect(shown?.note).toMatch(/^First \d+ of 40 pages sent as text; the rest is in attachments\/.*\/long\.pdf\.$/)
  expect(shown).not.toHaveProperty('text')
  const told = /Continue with file_read, path "([^"]+)", offset (\d+)/.exec(textAsked(scene))
  expect(textAsked(scene)).not.toContain('Page 40 tells')

  const [, path = '', offset = ''] = told ?? []
  scene.fake.reply([{ toolCalls: [{ name: 'file_read', input: { path, offset: Number(offset) } }] }, { text: 'done' }])
  await scene.familiar.chat('Read on')
  expect(scene.lastAsked()).toContain('Page 40 tells')
})

it('ASSET-6c a file name cannot leave its folder, and two files of one name are both kept', async () => {
  const scene = await open()
  scene.fake.reply({ text: 'one' })
  const file = (name: string, words: string) => attached({ name, type: 'text/plain', data: Buffer.from(words) })
  const attachments = [file('..', 'first'), file('a.txt', 'second'), file('a.txt', 'third'), file('a.txt', 'second')]
  await scene.familiar.chat('Read', { attachments })
  expect(savedFiles(scene.familiar.home)).toEqual(['a-2.txt', 'a.txt', 'file'])
})

it('ASSET-6a CHAN-1 files sent over Telegram are read, and the chat lists those that could not be', async () => {
  const telegram: FakeTelegram = await startFakeTelegram({})
  closers.push(telegram.close)
  const fake = await startFakeModel()
  closers.push(fake.close)
  const owner = 7_001
  const familiar = await startFamiliar({
    toml: `[memory]\nextraction = false\n[telegram]\napi_root = "${telegram.apiRoot}"\nallowed_ids = [${owner}]\n`,
    env: { TELEGRAM_BOT_TOKEN: telegram.token },
    providers: {
      fake: `type = "openai-compatible"\nbase_url = "${fake.url}/v1"\napi_key_env = "FAKE_KEY"\n[models.main]\nmodel = "fake-model"\n`,
    },
  })
  closers.push(() => familiar.close())
  const texts = () => telegram.chat(owner).map(({ text }) => text ?? '')
  for (const [at, { name, type, data, words }] of kinds.entries()) {
    fake.reply({ text: `answer ${at}` })
    sendFile(telegram, owner, { name, type, data })
    await telegram.until(() => texts().some((text) => text.includes(`answer ${at}`)))
    expect(textAsked({ fake }), name).toContain(words)
  }
  fake.reply({ text: 'answer last' })
  sendFile(telegram, owner, { name: 'nothing.txt', type: 'text/plain', data: Buffer.from(' ') })
  await telegram.until(() => texts().some((text) => text.includes('answer last')))
  expect(texts()).toContain('nothing.txt is empty.')
}, 60_000)
