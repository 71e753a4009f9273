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
  const spoken = makeSpokenFile(question, { before: 0.8, cough: 3.5, after: 4 })
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

const talk = (page: Page) => page.getByRole('button', { name: 'Talk' })
const call = (page: Page) => page.getByRole('dialog', { name: 'Voice call' })
const state = (page: Page, text: string) => page.getByRole('region', { name: 'Voice' }).getByText(text, { exact: true })

describePage('voice in the page', () => {
  const spokenIt = it.skipIf(espeak === undefined)

  spokenIt('CHAN-3 speech while the button is held is sent, and the reply is spoken', async () => {
    const { page, fake, recordings, asked } = await openVoicePage()
    fake.reply({ text: 'It is **sunny**. See [the forecast](https://example.org/x).\n\n```\nnot.this\n```' })
    await talk(page).hover()
    await page.mouse.down()
    await state(page, 'Hearing you').waitFor()
    await page.mouse.up()
    await page.getByRole('log').getByText(question).waitFor()
    await page.getByRole('log').getByText('It is sunny.').waitFor()
    await state(page, 'Speaking').waitFor()
    // Sound came before the word.
    expect(await page.evaluate('sounds.some((sound) => sound.currentTime > 0 || !sound.paused)')).toBe(true)
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
    await talk(page).dispatchEvent('click')
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
    await talk(page).dispatchEvent('click')
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
    await talk(refused.page).dispatchEvent('click')
    await refused.page.getByText('allow the microphone').waitFor()

    const deaf = await openVoicePage({ toml: '' })
    await talk(deaf.page).dispatchEvent('click')
    await deaf.page.getByText('familiar voice install').waitFor()
    await deaf.page.getByRole('button', { name: 'Dismiss' }).click()
    await deaf.page.getByRole('region', { name: 'Voice' }).waitFor({ state: 'hidden' })
  })

  it('CHAN-3 the browser’s recognition is used once it is chosen, and its own voice does not interrupt', async () => {
    const { page, fake, asked } = await openVoicePage({ init: recognising })
    fake.reply([{ text: 'The train to Vienna leaves at nine.' }, { text: 'Then at ten.' }])
    await talk(page).dispatchEvent('click')
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
    expect(await page.evaluate('isHeld')).toBe(true)
    await page.evaluate(`hear('No, the one later', true)`)
    expect(await page.evaluate('isCancelled')).toBe(true)
    await page.getByRole('log').getByText('No, the one later').waitFor()
    await expect.poll(() => page.evaluate('saying.at(-1).text')).toBe('Then at ten.')
    await page.evaluate('saying.at(-1).onend()')
    await state(page, 'Listening').waitFor()
    expect(asked).toEqual([])
  })

  spokenIt('VOICE-3 a cough makes the reply wait, and it continues where it was', async () => {
    const { page, fake, recordings, asked } = await openVoicePage({ understood: [question, ''] })
    const sentences = Array.from({ length: 30 }, (_, index) => `This is sentence number ${index + 1} of many.`)
    fake.reply({ text: sentences.join(' ') })
    await talk(page).dispatchEvent('click')
    await state(page, 'Speaking').waitFor()
    await state(page, 'Hearing you').waitFor()
    // It waits at its place.
    await expect.poll(() => page.evaluate('sounds.at(-1).paused')).toBe(true)
    const at = Number(await page.evaluate('sounds.length')) - 1
    const place = Number(await page.evaluate(`sounds[${at}].currentTime`))
    await state(page, 'Speaking').waitFor()
    await expect.poll(() => page.evaluate(`sounds[${at}].ended`)).toBe(true)
    expect(await page.evaluate(`sounds[${at}].currentTime`)).toBeGreaterThan(place)
    // The recognition was not asked about the cough: a model would have found words in it.
    expect(recordings).toHaveLength(1)
    await expect.poll(() => asked.length).toBeGreaterThan(3)
    expect(asked).toEqual(sentences.slice(0, asked.length))
  })

  spokenIt('VOICE-8 a call shows tool calls and is answered by voice', async () => {
    const { page, fake, asked } = await openVoicePage({ understood: [question, 'yes', ''] })
    const command = 'echo spoken-$((40+2))'
    fake.respondWith(({ bytes }) => {
      if (bytes.includes('spoken-42')) return { text: 'It is done.' }
      return { text: 'I need a command.', toolCalls: [{ name: 'exec', input: { command, host: true } }] }
    })
    await talk(page).press('Enter')
    await call(page).getByText('Say “yes” or “no”, or press a button.').waitFor()
    await call(page).getByRole('button', { name: 'Allow once' }).waitFor()
    // The question comes again from the microphone, and this time it is understood as an answer.
    await call(page).getByRole('log').getByText('It is done.').waitFor({ timeout: 40_000 })
    await call(page).getByText('spoken-42', { exact: true }).waitFor()
    await expect.poll(() => asked.at(-1)).toBe('It is done.')
  })

  it('VOICE-8 PAGE-4 a call is muted, paused, hidden and ended by the keyboard', async () => {
    const { page } = await openVoicePage({ init: recognising })
    await page.evaluate(`localStorage.setItem('familiar.voice', JSON.stringify({ ears: 'browser' }))`)
    await page.reload()
    await talk(page).press('Enter')
    await state(page, 'Listening').waitFor()
    await call(page).getByRole('button', { name: 'Mute' }).press('Enter')
    await state(page, 'Microphone off').waitFor()
    await page.evaluate(`hear('Not for you', true)`)
    await call(page).getByRole('button', { name: 'Unmute' }).press('Enter')
    await state(page, 'Listening').waitFor()
    await call(page).getByRole('button', { name: 'Pause', exact: true }).press('Enter')
    await state(page, 'Paused').waitFor()
    await call(page).getByRole('button', { name: 'Continue', exact: true }).press('Enter')
    await state(page, 'Listening').waitFor()
    await call(page).getByRole('button', { name: 'Back to the conversation' }).press('Enter')
    await call(page).waitFor({ state: 'hidden' })
    await state(page, 'Listening').waitFor()
    await page.getByRole('button', { name: 'Show the call' }).press('Enter')
    await call(page).getByRole('button', { name: 'End', exact: true }).press('Enter')
    await call(page).waitFor({ state: 'hidden' })
    await page.getByRole('region', { name: 'Voice' }).waitFor({ state: 'hidden' })
    await page
      .getByText('What can I do')
      .or(page.getByRole('combobox', { name: 'Message' }))
      .first()
      .waitFor()
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
      await talk(page).press('Enter')
      await page.getByRole('heading', { name: 'Which speech recognition?' }).waitFor()
      await expectNoFault()
      await page.getByRole('button', { name: 'Use the browser' }).press('Enter')
      await page.evaluate(`hear('Something that takes more than one line on a phone, as questions do', false)`)
      await state(page, 'Hearing you').waitFor()
      await expectNoFault()

      await page.getByRole('button', { name: 'Voice settings' }).press('Enter')
      const dialog = page.getByRole('dialog', { name: 'Voice', exact: true })
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
  globalThis.isHeld = false
  Object.defineProperty(globalThis, 'speechSynthesis', { value: {
    getVoices: () => [{ voiceURI: 'here', name: 'Here', lang: 'en-US', localService: true }],
    speak: (utterance) => {
      saying.push(utterance)
      queueMicrotask(() => utterance.onstart?.())
    },
    pause: () => { isHeld = true },
    resume: () => { isHeld = false },
    cancel: () => { isCancelled = true },
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
  } })
  globalThis.SpeechSynthesisUtterance = class { constructor(text) { this.text = text } }`
