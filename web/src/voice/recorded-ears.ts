import { call } from '../api/call.ts'
import type { OpenEars } from './browser-ears.ts'
import captureAddress from './capture-worklet.ts?worker&url'
import { createResampler, createUtterances, heardRate, toWav } from './utterances.ts'
import { toProblem, VoiceFailure } from './voice-problem.tsx'

/** Passes on the sound of the microphone at 16,000 samples a second until the signal aborts. Resolves once it records. */
async function openMicrophone(options: {
  onSamples(samples: Float32Array): void
  onLost(): void
  signal: AbortSignal
}): Promise<void> {
  const { onSamples, onLost, signal } = options
  if (!navigator.mediaDevices?.getUserMedia) throw new VoiceFailure({ kind: 'insecure', detail: '' })
  const stream = await navigator.mediaDevices.getUserMedia({
    audio: { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 },
  })
  const context = new AudioContext()
  const close = () => {
    for (const track of stream.getTracks()) track.stop()
    if (context.state !== 'closed') void context.close()
  }
  signal.addEventListener('abort', close, { once: true })
  try {
    signal.throwIfAborted()
    await context.audioWorklet.addModule(captureAddress)
    signal.throwIfAborted()
    const capture = new AudioWorkletNode(context, 'capture')
    const resample = createResampler(context.sampleRate)
    capture.port.onmessage = ({ data }: MessageEvent<Float32Array>) => {
      if (!signal.aborted) onSamples(resample(data))
    }
    stream.getAudioTracks()[0]?.addEventListener('ended', onLost)
    // It makes no sound, but some browsers run only what leads to the speakers.
    context.createMediaStreamSource(stream).connect(capture).connect(context.destination)
    await context.resume()
  } catch (error) {
    close()
    throw error
  }
}

/** A transcription that began at a pause: it is ready sooner if the pause turns out to be the end. */
interface Draft {
  text: Promise<string>
  cancel(): void
}

/** Records speech; the daemon transcribes it. `languages` has the language to expect and gets the one that was heard. */
export function createRecordedEars(languages: {
  expected(): string | null
  onHeard(language: string): void
}): OpenEars {
  async function transcribe(samples: Float32Array, signal: AbortSignal): Promise<string> {
    const data = toWav(samples, heardRate)
    const input = { language: languages.expected() ?? undefined }
    const heard = await call('voice.transcribe', input, { raw: { mediaType: 'audio/wav', data }, signal })
    if (heard.text !== '' && heard.language !== null) languages.onHeard(heard.language)
    return heard.text
  }

  return async (mode, listener, outer) => {
    const closing = new AbortController()
    const signal = AbortSignal.any([outer, closing.signal])
    /** One after the other, in the order in which they were said. */
    let earlier: Promise<void> = Promise.resolve()
    let draft: Draft | undefined
    let isMuted = false
    let isFinished = false

    function begin(samples: Float32Array): Draft {
      const canceling = new AbortController()
      const text = transcribe(samples, AbortSignal.any([signal, canceling.signal]))
      text.catch(() => undefined)
      return { text, cancel: () => canceling.abort() }
    }

    function write({ text }: Draft): void {
      earlier = earlier.then(async () => {
        try {
          const heard = await text
          if (!signal.aborted) listener.onUtterance(heard)
        } catch (error) {
          if (!signal.aborted) listener.onProblem(toProblem(error))
        }
      })
    }

    /** The text of everything up to the pause is shown while the user continues. */
    async function showWords({ text }: Draft): Promise<void> {
      const words = await text.catch(() => '')
      if (words !== '' && !signal.aborted && utterances.isSpeaking()) listener.onWords(words)
    }

    const utterances = createUtterances(mode === 'hold', {
      onBegin() {
        if (draft) void showWords(draft)
        draft = undefined
        listener.onSpeech()
      },
      onLevel: listener.onLevel,
      onPause(samples) {
        draft?.cancel()
        draft = begin(samples)
      },
      onContinue() {
        if (draft) void showWords(draft)
        draft = undefined
      },
      onEnd(samples) {
        listener.onPause()
        write(draft ?? begin(samples))
        draft = undefined
      },
    })
    await openMicrophone({
      onSamples: (samples) => !isFinished && !isMuted && utterances.push(samples),
      onLost: () => !signal.aborted && listener.onProblem({ kind: 'no_microphone', detail: '' }),
      signal,
    })
    return {
      finish() {
        isFinished = true
        const samples = utterances.finish()
        if (samples) write(draft ?? begin(samples))
        else listener.onUtterance('')
      },
      close: () => closing.abort(),
      setGuarded: utterances.setGuarded,
      setMuted(muted) {
        if (muted && !isMuted) {
          draft?.cancel()
          draft = undefined
          utterances.clear()
          listener.onLevel(0)
        }
        isMuted = muted
      },
    }
  }
}

/** The speech recognition of browsers, which TypeScript has no types for. */
interface Recognizer extends EventTarget {
  lang: string
  continuous: boolean
  interimResults: boolean
  onstart: (() => void) | null
  onspeechstart: (() => void) | null
  onresult: ((event: RecognitionEvent) => void) | null
  onerror: ((event: { error: string; message?: string }) => void) | null
  onend: (() => void) | null
  start(): void
  stop(): void
  abort(): void
}

export interface RecognitionEvent {
  resultIndex: number
  results: ArrayLike<{ isFinal: boolean; 0?: { transcript: string } }>
}

interface MaybeRecognizing {
  SpeechRecognition?: new () => Recognizer
  webkitSpeechRecognition?: new () => Recognizer
}

/** Undefined where the browser has none. */
export function findRecognizer(): (new () => Recognizer) | undefined {
  const { SpeechRecognition, webkitSpeechRecognition } = globalThis as MaybeRecognizing
  return SpeechRecognition ?? webkitSpeechRecognition
}
