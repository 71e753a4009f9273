import { readFileSync } from 'node:fs'
import { systemClock } from '../src/base/clock.ts'
import { createRunChild } from '../src/base/processes.ts'
import { createAskedChild, startVoiceChild, type VoiceKind, type VoiceWork } from '../src/models/speech/local-voice.ts'
import { phonemize } from '../src/models/speech/phonemize.ts'
import { readWav, secondsOf } from '../src/models/speech/recordings.ts'
import { speakBySystem } from '../src/models/speech/speaker.ts'
import { median } from './statistics.ts'

/** As people talk to an agent. No figures: how a model writes them is a matter of taste. */
const sentences = [
  'Please remind me to call the dentist tomorrow morning.',
  'What is the weather going to be like this weekend?',
  'Add milk, bread and butter to my shopping list.',
  'The train to the airport leaves from the second platform.',
  'Can you read me the last message from my brother?',
  'I would like to book a table for dinner on Friday.',
  'Turn the heating down when nobody is at home.',
  'She sells fresh vegetables at the market every Saturday.',
  'My passport expires at the end of next year.',
  'Write a short letter to thank the neighbours for their help.',
  'The meeting was moved to the afternoon because of the strike.',
  'How long does it take to walk to the library from here?',
  'The old bridge was closed for repairs during the summer.',
  'Do not forget to water the plants on the balcony.',
  'He has been learning to play the piano since the spring.',
  'Find a quiet place where we can talk about the project.',
  'The doctor said that I should drink more water.',
  'Play some music that helps me to concentrate.',
  'Our cat hides under the sofa whenever it thunders.',
  'Translate this sentence and send it to my colleague in Spain.',
]

interface SpokenSentence {
  text: string
  wav: Uint8Array
  seconds: number
  ms: number
}

interface VoiceFigures {
  voice: string
  /** Words that were written down wrongly, left out or added, of all that were said. */
  wordErrorRate: number
  /** Time to make a second of sound, and to write one down. */
  speechSecondsPerSecond: number
  transcriptionSecondsPerSecond: number
  transcriptionP50Ms: number
}

/** Says every sentence with each voice and has it written down. `folder` is what `familiar voice install` has filled. */
export async function measureVoice({ folder, say }: { folder: string; say: (line: string) => void }): Promise<{
  sentences: number
  voices: VoiceFigures[]
  processMegabytes: Record<VoiceKind, number>
  mistakes: { said: string; heard: string }[]
}> {
  const { signal } = new AbortController()
  const machine = { runChild: createRunChild({ clock: systemClock() }), searchPath: process.env.PATH ?? '' }
  const speaker = openModel('speech', folder)
  const listener = openModel('transcription', folder)

  async function speak(text: string, voice: string): Promise<Uint8Array> {
    if (voice === 'espeak-ng') {
      const spoken = await speakBySystem(machine, { text, voice: 'en-us', signal })
      if (!spoken.ok) throw new Error(spoken.reason)
      return spoken.recording.data
    }
    const phonemes = await phonemize(machine, { text, voice, signal })
    if (!phonemes.ok) throw new Error(phonemes.reason)
    const answer = await speaker.ask({ type: 'speak', sentences: phonemes.sentences, voice })
    if (answer.type !== 'spoken') throw new Error(JSON.stringify(answer))
    return answer.wav
  }

  const voices: VoiceFigures[] = []
  const mistakes: { said: string; heard: string }[] = []
  for (const voice of ['af_heart', 'bm_george', 'espeak-ng']) {
    say(`${voice} …`)
    // Once before it counts: the first one loads the model.
    await listener.ask({ type: 'transcribe', recording: await speak('Hello.', voice), language: null })
    const spoken: SpokenSentence[] = []
    for (const text of sentences) {
      const { value: wav, ms } = await timed(() => speak(text, voice))
      const heard = readWav(wav)
      if (!heard.ok) throw new Error(heard.reason)
      spoken.push({ text, wav, seconds: secondsOf(heard.sound), ms })
    }
    const times: number[] = []
    let errors = 0
    for (const { text, wav } of spoken) {
      const { value: answer, ms } = await timed(() =>
        listener.ask({ type: 'transcribe', recording: wav, language: null }),
      )
      if (answer.type !== 'transcribed') throw new Error(JSON.stringify(answer))
      times.push(ms)
      const wrong = wordErrors(wordsOf(text), wordsOf(answer.text))
      errors += wrong
      if (wrong > 0 && voice !== 'espeak-ng') mistakes.push({ said: text, heard: answer.text })
    }
    const seconds = sum(spoken.map((each) => each.seconds))
    voices.push({
      voice,
      wordErrorRate: round(errors / sum(sentences.map((text) => wordsOf(text).length))),
      speechSecondsPerSecond: round(sum(spoken.map(({ ms }) => ms)) / 1_000 / seconds),
      transcriptionSecondsPerSecond: round(sum(times) / 1_000 / seconds),
      transcriptionP50Ms: Math.round(median(times)),
    })
  }
  const processMegabytes = { speech: speaker.peakMegabytes(), transcription: listener.peakMegabytes() }
  await Promise.all([speaker.close(), listener.close()])
  return { sentences: sentences.length, voices, processMegabytes, mistakes }
}

function openModel(kind: VoiceKind, folder: string) {
  let pid: number | undefined
  const { signal } = new AbortController()
  const child = createAskedChild({
    clock: systemClock(),
    start(events) {
      const made = startVoiceChild(kind, folder, 'whisper-tiny')(events)
      pid = made.pid
      return made
    },
  })
  return {
    ask: (work: VoiceWork) => child.ask(work, signal),
    close: () => child.close(),
    peakMegabytes(): number {
      const [, kilobytes = '0'] = /VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
      return Math.round(Number(kilobytes) / 1_024)
    },
  }
}

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const startedAt = performance.now()
  const value = await work()
  return { value, ms: performance.now() - startedAt }
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[a-z']+/g) ?? []
}

/** The fewest words that have to be changed, left out or put in. */
function wordErrors(said: readonly string[], heard: readonly string[]): number {
  let row = Array.from({ length: heard.length + 1 }, (_, index) => index)
  for (const [at, word] of said.entries()) {
    const next = [at + 1]
    for (const [index, other] of heard.entries()) {
      const changed = (row[index] ?? 0) + (word === other ? 0 : 1)
      next.push(Math.min(changed, (row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
