import type { Clock } from '../../base/clock.ts'
import { type ModelChild, type ModelChildEvents, startModelChild } from '../../base/processes.ts'
import { createTurnstile, untilAborted } from '../../base/work.ts'
import { findEspeak, languageOfVoice, type Machine, noEspeak, phonemize } from './phonemize.ts'
import { type SpeechRequest, type Spoken, type Transcription, unspoken } from './speech.ts'
import { createInstalledParts, kokoroVoices, usualVoice, type WhisperName, whisperNames } from './voice-parts.ts'

export type LocalVoice = ReturnType<typeof createLocalVoice>

/**
 * The models installed by `familiar voice install`, each in a separate process while it is used. `folder` contains the
 * voice files; it need not exist. `transcriptionModel` is the model that the user chose, null for the best one.
 */
export function createLocalVoice(
  options: Machine & { folder: string; clock: Clock; transcriptionModel?: () => string | null },
) {
  const { folder, clock, transcriptionModel: chosenModel = () => null } = options
  const isInstalled = createInstalledParts(folder, clock)
  const listeners = new Map<WhisperName, ReturnType<typeof createAskedChild>>()
  const speaker = createAskedChild({ start: startVoiceChild('speech', folder), clock })
  const inTurn = createTurnstile(1)

  /** Null if it can speak; otherwise what is missing. */
  async function whyNotSpeak(): Promise<string | null> {
    if (!isInstalled('kokoro-82m')) return noLocalVoice
    return (await findEspeak(options)) === undefined ? noEspeak : null
  }

  /** The chosen model if it is installed, otherwise the first installed one. */
  function transcriptionModel(): WhisperName | undefined {
    const chosen = whisperNames.find((name) => name === chosenModel())
    return chosen !== undefined && isInstalled(chosen) ? chosen : whisperNames.find(isInstalled)
  }

  function listenerOf(model: WhisperName) {
    const known = listeners.get(model)
    if (known) return known
    const made = createAskedChild({ start: startVoiceChild('transcription', folder, model), clock })
    listeners.set(model, made)
    return made
  }

  async function speakNow({ text, voice, language, signal }: SpeechRequest): Promise<Spoken> {
    const chosen = kokoroVoiceFor(voice, language ?? null)
    if (chosen === undefined) return unspoken(noSuchVoice(voice ?? ''))
    const phonemes = await phonemize(options, { text, voice: chosen, signal })
    if (!phonemes.ok) return unspoken(phonemes.reason)
    if (phonemes.sentences.length === 0) return unspoken('The text contains nothing that can be spoken.')
    const answer = await speaker.ask({ type: 'speak', sentences: phonemes.sentences, voice: chosen }, signal)
    if (answer.type !== 'spoken') {
      return unspoken(answer.type === 'failed' ? answer.reason : 'The model returned no audio.')
    }
    return { ok: true, recording: { data: answer.wav, mediaType: 'audio/wav', extension: 'wav' }, by: speechModel }
  }

  return {
    transcriptionModel,
    /**
     * Only WAV and OGG with Opus: the caller converts others to WAV. `language` is the expected one; a clearly different
     * one is recognized too.
     */
    async transcribe(
      recording: Uint8Array,
      { language, signal }: { language: string | null; signal: AbortSignal },
    ): Promise<Transcription> {
      const model = transcriptionModel()
      if (model === undefined) return { ok: false, reason: 'The transcription model is not installed.' }
      const answer = await listenerOf(model).ask({ type: 'transcribe', recording, language }, signal)
      if (answer.type === 'transcribed') {
        const { text, seconds, language: found } = answer
        return { ok: true, text, by: model, seconds, ...(found !== null && { language: found }) }
      }
      return { ok: false, reason: answer.type === 'failed' ? answer.reason : 'The model returned no text.' }
    },
    whyNotSpeak,
    /** False for a language that the model was not made for. */
    speaks: (language: string) => kokoroVoiceFor(null, language) !== undefined,
    /** In the order of the calls: the second sentence never holds up the first. */
    async speak(request: SpeechRequest): Promise<Spoken> {
      const missing = await whyNotSpeak()
      if (missing !== null) return unspoken(missing)
      return await untilAborted(
        inTurn(() => {
          request.signal.throwIfAborted()
          return speakNow(request)
        }),
        request.signal,
      )
    },
    /** Loads the models, so that the first sentence does not wait for that. Failures are reported by the first use. */
    async warm(kinds: { speech: boolean; transcription: boolean }, signal: AbortSignal): Promise<void> {
      const model = kinds.transcription ? transcriptionModel() : undefined
      const canSpeak = kinds.speech && (await whyNotSpeak()) === null
      await Promise.all([
        model !== undefined && listenerOf(model).ask({ type: 'warm' }, signal),
        canSpeak && speaker.ask({ type: 'warm' }, signal),
      ])
    },
    async close(): Promise<void> {
      await Promise.all([...listeners.values(), speaker].map((child) => child.close()))
    },
  }
}

/** The wanted voice if it speaks this language; otherwise the usual one of the language. Undefined if there is none. */
function kokoroVoiceFor(wanted: string | null, language: string | null): string | undefined {
  if (wanted !== null && !Object.hasOwn(kokoroVoices, wanted)) return undefined
  if (language === null) return wanted ?? usualVoice
  if (wanted !== null && languageOfVoice(wanted) === language) return wanted
  return Object.keys(kokoroVoices).find((voice) => languageOfVoice(voice) === language)
}

const noSuchVoice = (name: string) => `There is no voice "${name}" on this machine: familiar voice status lists them.`
export const noLocalVoice = 'There is no voice model on this machine. To get one: familiar voice install --speech'
export const speechModel = 'kokoro-82m'

export type StartVoiceChild = (events: ModelChildEvents<FromVoiceProcess>) => ModelChild<ToVoiceProcess>

const idleMs = 5 * 60_000
/** Half a minute of sound takes a few seconds on a slow machine: a process that is silent for this long hangs. */
const patienceMs = 120_000

const closed: ChildAnswer = { type: 'failed', reason: 'Familiar is stopping.' }
/** Its caller does not wait any more. */
const abandoned: ChildAnswer = { type: 'failed', reason: 'Canceled.' }

/** A model in a separate process, started by the first request and stopped after idle minutes. */
export function createAskedChild(options: { start: StartVoiceChild; clock: Clock }) {
  const { start, clock } = options
  const inTurn = createTurnstile(1)
  let child: { process: ModelChild<ToVoiceProcess>; isReady: boolean } | undefined
  let current: { work: VoiceWork; settle(answer: ChildAnswer): void; isSent: boolean } | undefined
  let isClosed = false
  let ending = Promise.resolve()
  let stopTimer = () => {}

  function advance(): void {
    child ??= startProcess()
    child.process.setBusy(true)
    watch()
    if (!child.isReady || !current) return
    current.isSent = true
    child.process.send(current.work)
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

  async function work(asked: VoiceWork, signal: AbortSignal): Promise<ChildAnswer> {
    signal.throwIfAborted()
    if (isClosed) return closed
    const { promise, resolve } = Promise.withResolvers<ChildAnswer>()
    const onAbort = () => {
      // The process keeps its model: it skips the rest of the request and answers, which frees it for the next one.
      if (own.isSent) child?.process.send({ type: 'cancel' })
      else resolve(abandoned)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    const own = { work: asked, settle: resolve, isSent: false }
    current = own
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
    /**
     * One at a time, in order. Failures are returned as `failed`; only the signal's reason is thrown, at once. An aborted
     * request leaves the process and its model in place.
     */
    ask: (asked: VoiceWork, signal: AbortSignal): Promise<ChildAnswer> =>
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

/** A request to the child: one at a time, the next one after the answer. */
export type VoiceWork =
  | { type: 'transcribe'; recording: Uint8Array; language: string | null }
  /** Sentences in the model's phonemes. */
  | { type: 'speak'; sentences: readonly string[]; voice: string }
  /** Runs the model once, which loads all of it. */
  | { type: 'warm' }

/** `cancel`: the current request is not needed any more; it is still answered. */
export type ToVoiceProcess = VoiceWork | { type: 'cancel' }

export type ChildAnswer =
  | { type: 'transcribed'; text: string; seconds: number; language: string | null }
  | { type: 'spoken'; wav: Uint8Array }
  | { type: 'warm' }
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

/** `model` is the folder of the transcription model. */
export function startVoiceChild(kind: VoiceKind, folder: string, model = ''): StartVoiceChild {
  const command = {
    program: new URL('./voice-child.ts', import.meta.url),
    args: [kind, folder, model],
    // Kokoro declares a newer operator set (ai.onnx.ml 5) than this runtime supports, but uses none of it.
    environment: { ALLOW_RELEASED_ONNX_OPSET_ONLY: '0' },
  }
  return (events) => startModelChild(command, events)
}
