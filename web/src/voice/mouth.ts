import { callRaw } from '../api/call.ts'
import type { TurnItem, TurnPart } from '../chat/conversation.ts'
import { t } from '../strings/strings.ts'
import { takeSentences } from './sentences.ts'

/** Says texts aloud. `prepare` may take time, as where a server makes the sound; `play` ends with the sound or with the signal. */
export interface SpeakingVoice {
  prepare(text: string, signal: AbortSignal): Promise<{ play(signal: AbortSignal): Promise<void> }>
}

export interface Mouth {
  /** Queues a sentence; `owner` names the turn or text that it belongs to. */
  say(text: string, owner: string): void
  /** Stops at once and drops the rest. */
  cut(): void
  /** Whose words are being said or about to be; null where it is silent. */
  owner(): string | null
  /** The last spoken sentences, newest last: the microphone may pick them up as an echo. */
  recent(): string
  subscribe(listener: () => void): () => void
}

interface Queued {
  text: string
  owner: string
  prepared?: ReturnType<SpeakingVoice['prepare']>
}

/** One sentence is said while the next is made ready. */
const preparedAtOnce = 2
const recentLength = 600

/** The page has one voice. Texts are spoken one after the other. */
export function createMouth(needs: {
  /** Asked at every sentence, so that another choice counts from the next one on. */
  voice: () => Promise<SpeakingVoice>
  onFailure(error: unknown): void
}): Mouth {
  const listeners = new Set<() => void>()
  let queue: Queued[] = []
  let stopping = new AbortController()
  let isRunning = false
  let recent = ''
  /** When one sentence fails, the rest of the text is dropped: it would fail too. */
  let failed: string | null = null

  const tell = () => {
    for (const listener of listeners) listener()
  }

  function prepareNext(signal: AbortSignal): void {
    for (const entry of queue.slice(0, preparedAtOnce)) {
      entry.prepared ??= needs.voice().then((voice) => voice.prepare(entry.text, signal))
      // Reject for callers that wait. After a cut there are none.
      entry.prepared.catch(() => undefined)
    }
  }

  function reset(): void {
    queue = []
    isRunning = false
    stopping.abort()
    stopping = new AbortController()
  }

  async function run({ signal }: AbortController): Promise<void> {
    try {
      for (let entry = queue[0]; entry; entry = queue[0]) {
        prepareNext(signal)
        const sound = await entry.prepared
        if (signal.aborted) return
        recent = `${recent} ${entry.text}`.slice(-recentLength)
        await sound?.play(signal)
        if (signal.aborted) return
        queue.shift()
      }
      isRunning = false
    } catch (error) {
      if (signal.aborted) return
      failed = queue[0]?.owner ?? null
      reset()
      needs.onFailure(error)
    }
    tell()
  }

  return {
    say(text, owner) {
      if (owner === failed) return
      queue.push({ text, owner })
      prepareNext(stopping.signal)
      if (!isRunning) {
        isRunning = true
        void run(stopping)
      }
      tell()
    },
    cut() {
      failed = null
      if (!isRunning) return
      reset()
      tell()
    },
    owner: () => queue[0]?.owner ?? null,
    recent: () => recent,
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** Those that speak on this machine come first; the others send the text to their maker. */
export function browserVoices(): SpeechSynthesisVoice[] {
  if (!('speechSynthesis' in globalThis)) return []
  return speechSynthesis.getVoices().toSorted((one, other) => Number(other.localService) - Number(one.localService))
}

/** Browsers load their list of voices at the first request, and report when it is there. */
export function onBrowserVoices(listener: () => void): () => void {
  if (!('speechSynthesis' in globalThis)) return () => undefined
  speechSynthesis.addEventListener('voiceschanged', listener)
  return () => speechSynthesis.removeEventListener('voiceschanged', listener)
}

export function createBrowserVoice(voice: SpeechSynthesisVoice, rate: () => number): SpeakingVoice {
  return {
    async prepare(text) {
      return {
        play: (signal) =>
          new Promise((resolve, reject) => {
            const utterance = new SpeechSynthesisUtterance(text)
            utterance.voice = voice
            utterance.lang = voice.lang
            utterance.rate = rate()
            const cut = () => {
              speechSynthesis.cancel()
              resolve()
            }
            if (signal.aborted) return resolve()
            signal.addEventListener('abort', cut, { once: true })
            utterance.onend = () => {
              signal.removeEventListener('abort', cut)
              resolve()
            }
            utterance.onerror = ({ error }) => {
              signal.removeEventListener('abort', cut)
              if (error === 'canceled' || error === 'interrupted') resolve()
              else reject(new Error(t.voice.browserCouldSpeak(error)))
            }
            speechSynthesis.speak(utterance)
          }),
      }
    },
  }
}

/** The daemon makes the sound, of which the page plays one sentence after the other. */
export function createDaemonVoice(name: string | null, rate: () => number): SpeakingVoice {
  return {
    async prepare(text, signal) {
      const response = await callRaw('voice.speak', { text, voice: name ?? undefined }, { signal })
      const sound = await response.blob()
      return { play: (stop) => play(sound, rate(), stop) }
    },
  }
}

async function play(sound: Blob, rate: number, signal: AbortSignal): Promise<void> {
  const address = URL.createObjectURL(sound)
  const audio = new Audio(address)
  audio.playbackRate = rate
  try {
    await new Promise<void>((resolve, reject) => {
      if (signal.aborted) return resolve()
      signal.addEventListener('abort', () => resolve(), { once: true })
      audio.onended = () => resolve()
      audio.onerror = () => reject(new Error(t.voice.browserCouldPlayAudio))
      audio.play().catch(reject)
    })
  } finally {
    audio.pause()
    URL.revokeObjectURL(address)
  }
}

/** Reads the new sentences of a turn while it streams. */
interface ReplyReader {
  knows(turnId: string): boolean
  next(turn: TurnItem): string[]
  /** Skips the text so far; text for a later message is spoken again. */
  skip(turn: TurnItem): void
}

export function createReplyReader(): ReplyReader {
  const turns = new Map<string, { places: number[]; skipped: number }>()

  function known(turnId: string) {
    const reading = turns.get(turnId) ?? { places: [], skipped: 0 }
    turns.set(turnId, reading)
    return reading
  }

  return {
    knows: (turnId) => turns.has(turnId),
    next(turn) {
      const { places, skipped } = known(turn.id)
      const isOver = turn.outcome !== undefined
      // A silent reply is recognized only when it is complete.
      if (isOver && !turn.deliver) return []
      return turn.parts.flatMap((part, index) => {
        if (index < skipped) return []
        const isWhole = isOver || index < turn.parts.length - 1
        // A part only grows, so nothing of it is said twice.
        const { sentences, end } = takeSentences(textOf(part), { from: places[index] ?? 0, isWhole })
        places[index] = end
        return sentences
      })
    },
    skip(turn) {
      known(turn.id).skipped = turn.parts.length
    },
  }
}

function textOf(part: TurnPart): string {
  switch (part.kind) {
    case 'text':
    case 'said':
      return part.text
    case 'tool':
      // Say aloud that an answer is needed.
      return part.approval?.question ?? ''
    default:
      return ''
  }
}
