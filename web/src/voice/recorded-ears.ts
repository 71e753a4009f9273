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

/** Records speech; the daemon transcribes it. */
export const openRecordedEars: OpenEars = async (mode, listener, outer) => {
  const closing = new AbortController()
  const signal = AbortSignal.any([outer, closing.signal])
  /** One after the other, in the order in which they were said. */
  let earlier: Promise<void> = Promise.resolve()

  function write(samples: Float32Array): void {
    earlier = earlier.then(async () => {
      try {
        const text = await transcribe(toWav(samples, heardRate), signal)
        if (!signal.aborted) listener.onUtterance(text)
      } catch (error) {
        if (!signal.aborted) listener.onProblem(toProblem(error))
      }
    })
  }

  const utterances = createUtterances(mode === 'hold', {
    onBegin: listener.onSpeech,
    onLevel: listener.onLevel,
    onEnd(samples) {
      listener.onPause()
      write(samples)
    },
  })
  let isFinished = false
  await openMicrophone({
    onSamples: (samples) => !isFinished && utterances.push(samples),
    onLost: () => !signal.aborted && listener.onProblem({ kind: 'no_microphone', detail: '' }),
    signal,
  })
  return {
    finish() {
      isFinished = true
      const samples = utterances.finish()
      if (samples) write(samples)
      else listener.onUtterance('')
    },
    close: () => closing.abort(),
    setGuarded: utterances.setGuarded,
  }
}

async function transcribe(wav: Uint8Array<ArrayBuffer>, signal: AbortSignal): Promise<string> {
  const { text } = await call('voice.transcribe', {}, { raw: { mediaType: 'audio/wav', data: wav }, signal })
  return text
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
