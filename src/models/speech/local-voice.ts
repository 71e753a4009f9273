import type { Clock } from '../../base/clock.ts'
import { type ModelChild, type ModelChildEvents, startModelChild } from '../../base/processes.ts'
import { createTurnstile, untilAborted } from '../../base/work.ts'
import { findEspeak, type Machine, noEspeak, phonemize } from './phonemize.ts'
import { type SpeechRequest, type Spoken, type Transcription, unspoken } from './speech.ts'
import { createInstalledParts, kokoroVoices, usualVoice } from './voice-parts.ts'

export type LocalVoice = ReturnType<typeof createLocalVoice>

/**
 * The models installed by `familiar voice install`, each in a separate process while it is used. `folder` contains the
 * voice files; it need not exist.
 */
export function createLocalVoice(options: Machine & { folder: string; clock: Clock }) {
  const { folder, clock } = options
  const isInstalled = createInstalledParts(folder, clock)
  const listener = createAskedChild({ start: startVoiceChild('transcription', folder), clock })
  const speaker = createAskedChild({ start: startVoiceChild('speech', folder), clock })

  /** Null if it can speak; otherwise what is missing. */
  async function whyNotSpeak(): Promise<string | null> {
    if (!isInstalled('kokoro-82m')) return noLocalVoice
    return (await findEspeak(options)) === undefined ? noEspeak : null
  }

  return {
    canTranscribe: () => isInstalled('whisper-tiny'),
    /** Only WAV and OGG with Opus: the caller converts others to WAV. */
    async transcribe(data: Uint8Array, signal: AbortSignal): Promise<Transcription> {
      const answer = await listener.ask({ type: 'transcribe', recording: data }, signal)
      if (answer.type === 'transcribed') {
        return { ok: true, text: answer.text, by: transcriptionModel, seconds: answer.seconds }
      }
      return { ok: false, reason: answer.type === 'failed' ? answer.reason : 'The model returned no text.' }
    },
    whyNotSpeak,
    async speak({ text, voice: wanted, signal }: SpeechRequest): Promise<Spoken> {
      const missing = await whyNotSpeak()
      if (missing !== null) return unspoken(missing)
      const voice = wanted ?? usualVoice
      if (!Object.hasOwn(kokoroVoices, voice)) {
        return unspoken(`There is no voice "${voice}" on this machine: familiar voice status lists them.`)
      }
      const phonemes = await phonemize(options, { text, voice, signal })
      if (!phonemes.ok) return unspoken(phonemes.reason)
      if (phonemes.sentences.length === 0) return unspoken('The text contains nothing that can be spoken.')
      const answer = await speaker.ask({ type: 'speak', sentences: phonemes.sentences, voice }, signal)
      if (answer.type !== 'spoken') {
        return unspoken(answer.type === 'failed' ? answer.reason : 'The model returned no audio.')
      }
      return { ok: true, recording: { data: answer.wav, mediaType: 'audio/wav', extension: 'wav' }, by: speechModel }
    },
    async close(): Promise<void> {
      await Promise.all([listener.close(), speaker.close()])
    },
  }
}

export const noLocalVoice = 'There is no voice model on this machine. To get one: familiar voice install --speech'
export const transcriptionModel = 'whisper-tiny'
export const speechModel = 'kokoro-82m'

export type StartVoiceChild = (events: ModelChildEvents<FromVoiceProcess>) => ModelChild<ToVoiceProcess>

const idleMs = 5 * 60_000
/** Half a minute of sound takes a few seconds on a slow machine: a process that is silent for this long hangs. */
const patienceMs = 120_000

const closed: ChildAnswer = { type: 'failed', reason: 'Familiar is stopping.' }

/** A model in a separate process, started by the first request and stopped after idle minutes. */
export function createAskedChild(options: { start: StartVoiceChild; clock: Clock }) {
  const { start, clock } = options
  const inTurn = createTurnstile(1)
  let child: { process: ModelChild<ToVoiceProcess>; isReady: boolean } | undefined
  let current: { work: ToVoiceProcess; settle(answer: ChildAnswer): void } | undefined
  let isClosed = false
  let ending = Promise.resolve()
  let stopTimer = () => {}

  function advance(): void {
    child ??= startProcess()
    child.process.setBusy(true)
    watch()
    if (child.isReady && current) child.process.send(current.work)
  }

  function startProcess(): NonNullable<typeof child> {
    let problem: string | undefined
    const own = {
      isReady: false,
      process: start({
        onMessage(message) {
          if (message.type === 'unusable') problem = message.message
          else if (child === own) receive(message)
        },
        onEnd(reason) {
          if (child !== own) return
          child = undefined
          stopTimer()
          current?.settle({ type: 'failed', reason: `The voice model cannot be used: ${problem ?? `it ${reason}`}.` })
        },
      }),
    }
    return own
  }

  function receive(message: Exclude<FromVoiceProcess, { type: 'unusable' }>): void {
    if (message.type === 'progress') watch()
    else if (message.type !== 'ready') current?.settle(message)
    else if (child) {
      child.isReady = true
      advance()
    }
  }

  function endChild(): void {
    stopTimer()
    const process = child?.process
    child = undefined
    if (process) ending = process.end()
  }

  /** From now on it may be silent for this long; its end is noticed like any other. */
  function watch(): void {
    stopTimer()
    const own = child
    stopTimer = clock.after(patienceMs, () => void own?.process.end())
  }

  async function work(asked: ToVoiceProcess, signal: AbortSignal): Promise<ChildAnswer> {
    signal.throwIfAborted()
    if (isClosed) return closed
    const { promise, resolve, reject } = Promise.withResolvers<ChildAnswer>()
    const onAbort = () => {
      // It cannot stop in the middle of a window.
      endChild()
      reject(signal.reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    current = { work: asked, settle: resolve }
    advance()
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', onAbort)
      current = undefined
      rest()
    }
  }

  function rest(): void {
    if (!child) return
    stopTimer()
    child.process.setBusy(false)
    stopTimer = clock.after(idleMs, endChild)
  }

  return {
    /** One at a time, in order. Failures are returned as `failed`; only the signal's reason is thrown. */
    ask: (asked: ToVoiceProcess, signal: AbortSignal): Promise<ChildAnswer> =>
      untilAborted(
        inTurn(() => work(asked, signal)),
        signal,
      ),
    /** Waiting requests fail. Resolves when the process is gone. */
    async close(): Promise<void> {
      isClosed = true
      current?.settle(closed)
      const last = ending
      endChild()
      await Promise.all([last, ending])
    },
  }
}

/** Messages to the child: one request at a time, the next one after the answer. */
export type ToVoiceProcess =
  | { type: 'transcribe'; recording: Uint8Array }
  /** Sentences in the model's phonemes. */
  | { type: 'speak'; sentences: readonly string[]; voice: string }

export type ChildAnswer =
  | { type: 'transcribed'; text: string; seconds: number }
  | { type: 'spoken'; wav: Uint8Array }
  /** For display to the user. */
  | { type: 'failed'; reason: string }

/** Messages from the child: first whether it can work, then activity and an answer per request. */
export type FromVoiceProcess =
  | { type: 'ready' }
  /** It ends by itself after this. */
  | { type: 'unusable'; message: string }
  | { type: 'progress' }
  | ChildAnswer

export type VoiceKind = 'transcription' | 'speech'

export function startVoiceChild(kind: VoiceKind, folder: string): StartVoiceChild {
  const command = {
    program: new URL('./voice-child.ts', import.meta.url),
    args: [kind, folder],
    // Kokoro declares a newer operator set (ai.onnx.ml 5) than this runtime supports, but uses none of it.
    environment: { ALLOW_RELEASED_ONNX_OPSET_ONLY: '0' },
  }
  return (events) => startModelChild(command, events)
}
