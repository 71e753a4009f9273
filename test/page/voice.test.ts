import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Page, Request } from 'playwright-core'
import { afterAll, afterEach, expect, it } from 'vitest'
import { readWav } from '../../src/models/speech/recordings.ts'
import { loudness } from '../support/made-sound.ts'
import { chromiumPath, tellBrowser } from './support/chromium.ts'
import { describePage } from './support/describe-page.ts'
import { type FakeTranscription, startFakeTranscription } from './support/fake-transcription.ts'
import { findFaults, sidewaysBy } from './support/find-faults.ts'
import { type OpenedPage, type OpenPageOptions, openPage, say } from './support/open-page.ts'
import { espeak, makeSpokenFile } from './support/spoken-file.ts'

const question = 'What is the weather like in Vienna?'

if (chromiumPath !== undefined && espeak !== undefined) {
  const spoken = makeSpokenFile(question, { before: 0.8, after: 2.5 })
  tellBrowser(['--use-fake-device-for-media-stream', `--use-file-for-fake-audio-capture=${spoken}`])
  afterAll(() => rmSync(dirname(spoken), { recursive: true }))
}

/** A browser without recognition; what it opens of microphones and plays of sounds is counted. */
const watched = `
  delete globalThis.webkitSpeechRecognition
  delete globalThis.SpeechRecognition
  globalThis.microphones = []
  const open = navigator.mediaDevices?.getUserMedia.bind(navigator.mediaDevices)
  if (open) navigator.mediaDevices.getUserMedia = async (wanted) => {
    const stream = await open(wanted)
    microphones.push(...stream.getTracks())
    return stream
  }
  globalThis.sounds = []
  const play = HTMLMediaElement.prototype.play
  HTMLMediaElement.prototype.play = function () {
    sounds.push(this)
    return play.call(this)
  }`

const isSilent = 'sounds.every((sound) => sound.paused)'
const isDeaf = `microphones.every((track) => track.readyState === 'ended')`

let transcription: FakeTranscription | undefined
afterEach(async () => {
  await transcription?.close()
  transcription = undefined
})

interface VoicePage extends OpenedPage {
  recordings: Uint8Array[]
  /** The sentences that the daemon was asked to say, in their order. */
  asked: string[]
}

/** The page with a microphone that plays a spoken question in a loop, and a daemon that transcribes it. */
async function openVoicePage(
  options: OpenPageOptions & { understood?: string[]; script?: never; init?: string; isAllowed?: boolean } = {},
): Promise<VoicePage> {
  const { understood = [question], init = watched, isAllowed = true, toml, ...rest } = options
  transcription = await startFakeTranscription(understood)
  const opened = await openPage({
    ...rest,
    toml: toml ?? transcription.toml,
    context: { ...rest.context, ...(isAllowed && { permissions: ['microphone'] }) },
  })
  await opened.context.addInitScript({ content: init })
  await opened.page.reload()
  const asked: string[] = []
  opened.page.on('request', (request: Request) => {
    if (!request.url().endsWith('/api/v1/voice/speak')) return
    asked.push((request.postDataJSON() as { text: string }).text)
  })
  return { ...opened, recordings: transcription.recordings, asked }
}

const microphone = (page: Page) => page.getByRole('button', { name: 'Hold to talk' })
const handsFree = (page: Page) => page.getByRole('button', { name: 'Hands-free voice' })
const state = (page: Page, text: string) => page.getByRole('region', { name: 'Voice' }).getByText(text, { exact: true })

describePage('voice in the page', () => {
  const spokenIt = it.skipIf(espeak === undefined)

  spokenIt('CHAN-3 speech while the button is held is sent, and the reply is spoken', async () => {
    const { page, fake, recordings, asked } = await openVoicePage()
    fake.reply({ text: 'It is **sunny**. See [the forecast](https://example.org/x).\n\n```\nnot.this\n```' })
    await microphone(page).hover()
    await page.mouse.down()
    await state(page, 'Hearing you').waitFor()
    await page.mouse.up()
    await page.getByRole('log').getByText(question).waitFor()
    await page.getByRole('log').getByText('It is sunny.').waitFor()
    await state(page, 'Speaking').waitFor()
    // It is over when all is said, and nothing listens any more.
    await page.getByRole('region', { name: 'Voice' }).waitFor({ state: 'hidden' })
    expect(asked).toEqual(['It is sunny.', 'See the forecast.'])
    expect(await page.evaluate(isDeaf)).toBe(true)

    const heard = readWav(recordings[0] ?? new Uint8Array())
    if (!heard.ok) throw new Error(heard.reason)
    expect(heard.sound.rate).toBe(16_000)
    expect(loudness(heard.sound.samples)).toBeGreaterThan(0.01)
  })

  spokenIt('CHAN-3 hands-free: speaking while it speaks stops it, and gets a reply', async () => {
    const { page, fake, asked } = await openVoicePage({ understood: [question, 'No, in Graz!', ''] })
    const sentences = Array.from({ length: 30 }, (_, index) => `This is sentence number ${index + 1} of many.`)
    fake.reply([{ text: sentences.join(' ') }, { text: 'Rain.' }])
    await handsFree(page).click()
    await state(page, 'Speaking').waitFor()
    // The microphone plays the question again, into the middle of the answer.
    await page.getByRole('log').getByText('No, in Graz!').waitFor()
    await page.getByRole('log').getByText('Rain.').waitFor()
    await expect.poll(() => asked.at(-1)).toBe('Rain.')
    expect(asked.length).toBeLessThan(sentences.length)

    await page.keyboard.press('Escape')
    await page.getByRole('region', { name: 'Voice' }).waitFor({ state: 'hidden' })
    expect(await page.evaluate(isDeaf)).toBe(true)
    expect(await page.evaluate(isSilent)).toBe(true)
  })

  spokenIt('CHAN-3 the first sentence is said while the rest still streams; Escape leaves the turn alone', async () => {
    const { page, fake, asked } = await openVoicePage()
    fake.reply({ text: 'It begins here. And it goes on for long.', chunkSize: 20, stallAfterChunks: 1 })
    await page.getByRole('combobox', { name: 'Message' }).focus()
    await page.keyboard.down('Alt')
    await page.keyboard.down('v')
    await state(page, 'Hearing you').waitFor()
    await page.keyboard.up('v')
    await page.keyboard.up('Alt')
    await expect.poll(() => asked).toEqual(['It begins here.'])
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('region', { name: 'Voice' }).waitFor({ state: 'hidden' })
    expect(await page.getByRole('button', { name: 'Stop', exact: true }).isVisible()).toBe(true)
    expect(await page.getByRole('combobox', { name: 'Message' }).inputValue()).toBe('')
  })

  spokenIt('CHAN-3 hands-free goes on in a tab that nobody looks at', async () => {
    // A minute in the background is over at once there.
    const hidden = `${watched}
      const after = globalThis.setTimeout
      globalThis.setTimeout = (task, ms, ...rest) => after(task, ms === 60_000 ? 100 : ms, ...rest)
      globalThis.hide = () => {
        Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      }`
    const { page, fake, asked } = await openVoicePage({ init: hidden, understood: [question, ''] })
    fake.reply([{ text: 'Hello.' }, { text: 'It is sunny.' }])
    await say(page, 'Hi')
    await page.getByRole('log').getByText('Hello.').waitFor()
    await handsFree(page).click()
    await state(page, 'Listening').waitFor()
    await page.evaluate('hide()')
    await expect.poll(() => asked, { timeout: 20_000 }).toContain('It is sunny.')
  })

  spokenIt('CHAN-3 a message is read aloud, and stopped', async () => {
    const { page, fake, asked } = await openVoicePage()
    fake.reply({ text: `One thing. ${'Another thing, which takes its time to be said. '.repeat(8)}` })
    await say(page, 'Tell me')
    await page.getByRole('button', { name: 'Read aloud' }).click()
    await page.getByRole('button', { name: 'Stop reading' }).click()
    await page.getByRole('button', { name: 'Read aloud' }).waitFor()
    expect(asked[0]).toBe('One thing.')
    expect(await page.evaluate(isSilent)).toBe(true)
  })

  it('CHAN-3 a blocked microphone and missing recognition say what to do', async () => {
    const refused = await openVoicePage({ isAllowed: false })
    await handsFree(refused.page).click()
    await refused.page.getByText('allow the microphone').waitFor()

    const deaf = await openVoicePage({ toml: '' })
    await handsFree(deaf.page).click()
    await deaf.page.getByText('familiar voice install').waitFor()
    await deaf.page.getByRole('button', { name: 'Dismiss' }).click()
    await deaf.page.getByRole('region', { name: 'Voice' }).waitFor({ state: 'hidden' })
  })

  it('CHAN-3 the browser’s recognition is used once it is chosen, and its own voice does not interrupt', async () => {
    const { page, fake, asked } = await openVoicePage({ init: recognising })
    fake.reply([{ text: 'The train to Vienna leaves at nine.' }, { text: 'Then at ten.' }])
    await handsFree(page).click()
    await page.getByText('send your speech to their vendor').waitFor()
    await page.getByRole('button', { name: 'Use the browser' }).click()
    await state(page, 'Listening').waitFor()
    await page.evaluate(`hear('When does my', false)`)
    await state(page, 'Hearing you').waitFor()
    await page.getByText('When does my', { exact: true }).waitFor()
    await page.evaluate(`hear('When does my train leave?', true)`)
    await state(page, 'Speaking').waitFor()
    expect(await page.evaluate('saying.at(-1).text')).toBe('The train to Vienna leaves at nine.')

    await page.evaluate(`hear('train to Vienna leaves', false)`)
    await state(page, 'Speaking').waitFor()
    await page.evaluate(`hear('no, the one later', false)`)
    await state(page, 'Hearing you').waitFor()
    expect(await page.evaluate('isCancelled')).toBe(true)
    await page.evaluate(`hear('No, the one later', true)`)
    await page.getByRole('log').getByText('No, the one later').waitFor()
    await expect.poll(() => page.evaluate('saying.at(-1).text')).toBe('Then at ten.')
    await page.evaluate('saying.at(-1).onend()')
    await state(page, 'Listening').waitFor()
    expect(asked).toEqual([])
  })

  spokenIt('CHAN-3 PAGE-4 two presses work instead of holding the button', async () => {
    const { page, fake } = await openVoicePage()
    fake.reply({ text: 'Sunny.' })
    await microphone(page).dispatchEvent('click')
    await state(page, 'Hearing you').waitFor()
    await microphone(page).dispatchEvent('click')
    await page.getByRole('log').getByText(question).waitFor()
    await page.getByRole('log').getByText('Sunny.').waitFor()
  })

  it.each(['light', 'dark'] as const)(
    'PAGE-4 CHAN-3 every state of it by keyboard, on a phone, in %s',
    async (colorScheme) => {
      const { page } = await openVoicePage({
        init: recognising,
        context: { viewport: { width: 360, height: 740 }, colorScheme },
      })
      const expectNoFault = async () => {
        expect(await findFaults(page)).toEqual([])
        expect(await sidewaysBy(page)).toBe(0)
      }
      await handsFree(page).press('Enter')
      await page.getByRole('heading', { name: 'Which speech recognition?' }).waitFor()
      await expectNoFault()
      await page.getByRole('button', { name: 'Use the browser' }).press('Enter')
      await page.evaluate(`hear('Something that takes more than one line on a phone, as questions do', false)`)
      await state(page, 'Hearing you').waitFor()
      await expectNoFault()

      await page.getByRole('button', { name: 'Voice settings' }).press('Enter')
      const dialog = page.getByRole('dialog', { name: 'Voice' })
      await dialog.getByLabel(/^Speed/).press('ArrowRight')
      await dialog.getByText('Speed: 1.1×').waitFor()
      await expectNoFault()
      // It closes what is on top, and only that.
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'hidden' })
      await state(page, 'Hearing you').waitFor()
      expect(await page.evaluate(`JSON.parse(localStorage.getItem('familiar.voice')).rate`)).toBe(1.1)

      await page.evaluate(`recogniser.onerror({ error: 'network' })`)
      await page.getByText('does not respond').waitFor()
      await expectNoFault()
      await page.getByRole('button', { name: 'Change speech recognition' }).press('Enter')
      await page.getByRole('heading', { name: 'Which speech recognition?' }).waitFor()
    },
  )
})

/** A browser with its own recognition and voices: `hear` sets the recognized text, `saying` is the text it was asked to speak. */
const recognising = `
  globalThis.SpeechRecognition = globalThis.webkitSpeechRecognition = class {
    start() { globalThis.recogniser = this; queueMicrotask(() => this.onstart?.()) }
    stop() { queueMicrotask(() => this.onend?.()) }
    abort() { queueMicrotask(() => this.onend?.()) }
  }
  globalThis.hear = (transcript, isFinal) =>
    recogniser.onresult({ resultIndex: 0, results: [{ isFinal, 0: { transcript } }] })
  globalThis.saying = []
  globalThis.isCancelled = false
  Object.defineProperty(globalThis, 'speechSynthesis', { value: {
    getVoices: () => [{ voiceURI: 'here', name: 'Here', lang: 'en-US', localService: true }],
    speak: (utterance) => saying.push(utterance),
    cancel: () => { isCancelled = true },
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
  } })
  globalThis.SpeechSynthesisUtterance = class { constructor(text) { this.text = text } }`
