import { VoiceFailure } from '../voice-problem.ts'
import captureAddress from './capture-worklet.ts?worker&url'
import { createResampler } from './resampler.ts'

/** Hands on what the microphone hears as 16,000 samples a second, until the signal aborts. Resolves once it hears. */
export async function openMicrophone(options: {
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
