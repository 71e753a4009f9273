import { readFileSync } from 'node:fs'
import { systemClock } from '../src/base/clock.ts'
import { createRunChild } from '../src/base/processes.ts'
import { createAskedChild, startVoiceChild, type VoiceKind, type VoiceWork } from '../src/models/speech/local-voice.ts'
import { phonemize } from '../src/models/speech/phonemize.ts'
import { readWav, secondsOf } from '../src/models/speech/recordings.ts'
import { speakBySystem } from '../src/models/speech/speaker.ts'
import { createInstalledParts, usualVoice, type WhisperName, whisperNames } from '../src/models/speech/voice-parts.ts'
import { median } from './statistics.ts'

/** As people talk to an agent. No figures: how a model writes them is a matter of taste. */
const sentences: Record<'en-us' | 'de' | 'es', string[]> = {
  'en-us': [
    'Please remind me to call the dentist tomorrow morning.',
    'What is the weather going to be like this weekend?',
    'Add milk, bread and butter to my shopping list.',
    'The train to the airport leaves from the second platform.',
    'Can you read me the last message from my brother?',
    'I would like to book a table for dinner on Friday.',
    'My passport expires at the end of next year.',
    'How long does it take to walk to the library from here?',
  ],
  de: [
    'Bitte erinnere mich morgen früh an den Termin beim Zahnarzt.',
    'Wie wird das Wetter am Wochenende?',
    'Setze Milch, Brot und Butter auf meine Einkaufsliste.',
    'Der Zug zum Flughafen fährt vom zweiten Gleis ab.',
    'Kannst du mir die letzte Nachricht von meinem Bruder vorlesen?',
    'Ich möchte am Freitag einen Tisch zum Abendessen reservieren.',
    'Mein Pass läuft am Ende des nächsten Jahres ab.',
    'Wie lange dauert es zu Fuß von hier bis zur Bibliothek?',
  ],
  es: [
    'Por favor, recuérdame llamar al dentista mañana por la mañana.',
    '¿Qué tiempo va a hacer este fin de semana?',
    'Añade leche, pan y mantequilla a mi lista de la compra.',
    'El tren al aeropuerto sale del segundo andén.',
    '¿Puedes leerme el último mensaje de mi hermano?',
    'Quiero reservar una mesa para cenar el viernes.',
    'Mi pasaporte caduca al final del año que viene.',
    '¿Cuánto se tarda en ir andando a la biblioteca desde aquí?',
  ],
}

interface TranscriptionFigures {
  model: WhisperName
  voice: string
  language: string
  /** Words that were written down wrongly, left out or added, of all that were said. */
  wordErrorRate: number
  /** Of one sentence: time, and work of the processor, which other programs do not change. */
  p50Ms: number
  cpuP50Ms: number
}

/**
 * Says the sentences of three languages with the voice of the system, and English ones with the local voice, and has them
 * written down. `folder` is what `familiar voice install` has filled.
 */
export async function measureVoice({ folder, say }: { folder: string; say: (line: string) => void }): Promise<{
  sentences: number
  transcription: TranscriptionFigures[]
  speech: { voice: string; secondsPerSecond: number; cpuSecondsPerSecond: number }
  mistakes: { model: string; said: string; heard: string }[]
}> {
  const { signal } = new AbortController()
  const machine = { runChild: createRunChild({ clock: systemClock() }), searchPath: process.env.PATH ?? '' }
  const isInstalled = createInstalledParts(folder, systemClock())
  const speaker = openModel('speech', folder)

  async function speakLocally(text: string): Promise<Uint8Array> {
    const phonemes = await phonemize(machine, { text, voice: usualVoice, signal })
    if (!phonemes.ok) throw new Error(phonemes.reason)
    const answer = await speaker.ask({ type: 'speak', sentences: phonemes.sentences, voice: usualVoice })
    if (answer.type !== 'spoken') throw new Error(JSON.stringify(answer))
    return answer.wav
  }
  async function speakBySystemIn(text: string, language: string): Promise<Uint8Array> {
    const spoken = await speakBySystem(machine, { text, voice: language, signal })
    if (!spoken.ok) throw new Error(spoken.reason)
    return spoken.recording.data
  }

  say(`${usualVoice} …`)
  await speakLocally('Hello.')
  const speaking = { ms: 0, cpuMs: 0, seconds: 0 }
  const recordings: { voice: string; language: string; text: string; wav: Uint8Array }[] = []
  for (const text of sentences['en-us']) {
    const cpuBefore = speaker.cpuMs()
    const { value: wav, ms } = await timed(() => speakLocally(text))
    const heard = readWav(wav)
    if (!heard.ok) throw new Error(heard.reason)
    speaking.ms += ms
    speaking.cpuMs += speaker.cpuMs() - cpuBefore
    speaking.seconds += secondsOf(heard.sound)
    recordings.push({ voice: usualVoice, language: 'en', text, wav })
  }
  await speaker.close()
  for (const [voice, texts] of Object.entries(sentences)) {
    for (const text of texts) {
      const wav = await speakBySystemIn(text, voice)
      recordings.push({ voice: `espeak-ng ${voice}`, language: voice.slice(0, 2), text, wav })
    }
  }

  const transcription: TranscriptionFigures[] = []
  const mistakes: { model: string; said: string; heard: string }[] = []
  for (const model of whisperNames.filter(isInstalled)) {
    const listener = openModel('transcription', folder, model)
    await listener.ask({ type: 'warm' })
    for (const voice of new Set(recordings.map((recording) => recording.voice))) {
      say(`${model}, ${voice} …`)
      const these = recordings.filter((recording) => recording.voice === voice)
      const times: number[] = []
      const work: number[] = []
      let errors = 0
      for (const { text, wav, language } of these) {
        const cpuBefore = listener.cpuMs()
        const { value: answer, ms } = await timed(() => listener.ask({ type: 'transcribe', recording: wav, language }))
        if (answer.type !== 'transcribed') throw new Error(JSON.stringify(answer))
        times.push(ms)
        work.push(listener.cpuMs() - cpuBefore)
        const wrong = wordErrors(wordsOf(text), wordsOf(answer.text))
        errors += wrong
        if (wrong > 0) mistakes.push({ model, said: text, heard: answer.text })
      }
      transcription.push({
        model,
        voice,
        language: these[0]?.language ?? '',
        wordErrorRate: round(errors / sum(these.map(({ text }) => wordsOf(text).length))),
        p50Ms: Math.round(median(times)),
        cpuP50Ms: Math.round(median(work)),
      })
    }
    await listener.close()
  }
  return {
    sentences: recordings.length,
    transcription,
    speech: {
      voice: usualVoice,
      secondsPerSecond: round(speaking.ms / 1_000 / speaking.seconds),
      cpuSecondsPerSecond: round(speaking.cpuMs / 1_000 / speaking.seconds),
    },
    mistakes,
  }
}

function openModel(kind: VoiceKind, folder: string, model?: WhisperName) {
  let pid: number | undefined
  const { signal } = new AbortController()
  const child = createAskedChild({
    clock: systemClock(),
    start(events) {
      const made = startVoiceChild(kind, folder, model)(events)
      pid = made.pid
      return made
    },
  })
  return {
    ask: (work: VoiceWork) => child.ask(work, signal),
    close: () => child.close(),
    /** The work of the process so far. */
    cpuMs(): number {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')
      return (Number(fields[11]) + Number(fields[12])) * msPerTick
    },
  }
}

/** Linux counts in hundredths of a second. */
const msPerTick = 10

async function timed<T>(work: () => Promise<T>): Promise<{ value: T; ms: number }> {
  const startedAt = performance.now()
  const value = await work()
  return { value, ms: performance.now() - startedAt }
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}']+/gu) ?? []
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
