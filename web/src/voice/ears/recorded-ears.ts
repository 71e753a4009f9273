import type { TranscriptionReply } from '../../../../src/protocol/voice-api.ts'
import { send } from '../../api/ask.ts'
import { toProblem } from '../voice-problem.ts'
import type { OpenEars } from './ears.ts'
import { openMicrophone } from './microphone.ts'
import { heardRate } from './resampler.ts'
import { createUtterances } from './utterances.ts'
import { toWav } from './wav.ts'

/** Records what is said; the daemon writes it down. */
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
  const response = await send('/api/v1/voice/transcribe', {
    method: 'POST',
    headers: { 'content-type': 'audio/wav' },
    body: wav,
    signal,
  })
  const { text } = (await response.json()) as TranscriptionReply
  return text
}
