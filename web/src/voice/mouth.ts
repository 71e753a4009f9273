import { callRaw } from '../api/call.ts'
import type { TurnItem, TurnPart } from '../chat/conversation.ts'
import { t } from '../strings/strings.ts'
import { takeSentences } from './sentences.ts'

/** One sentence, ready to be played. */
interface Speech {
  /** Ends with the sound or with the signal. `onSound` is called when sound comes out. */
  play(signal: AbortSignal, onSound: () => void): Promise<void>
  pause(): void
  resume(): void
}

/** Says texts aloud. `prepare` may take time, as where a server makes the sound. */
export interface SpeakingVoice {
  prepare(text: string, signal: AbortSignal): Promise<Speech>
}

/** `preparing`: there is something to say, and no sound yet. */
type MouthState = 'silent' | 'preparing' | 'sounding' | 'held'

export interface Mouth {
  /** Queues a sentence; `owner` names the turn or text that it belongs to. */
  say(text: string, owner: string): void
  /** Stops at once and drops the rest. */
  cut(): void
  /** Stops at once and keeps the rest, until `resume` or `cut`. */
  hold(): void
  resume(): void
  state(): MouthState
  /** Whose words are being said or about to be; null where there are none. */
  owner(): string | null
  /** The sentence that is being said or about to be; empty where there is none. */
  sentence(): string
  /** The last spoken sentences, newest last: the microphone may pick them up as an echo. */
  recent(): string
  subscribe(listener: () => void): () => void
}

interface Queued {
  text: string
  owner: string
  prepared?: Promise<Speech>
  isReady?: true
}

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
  let isSounding = false
  /** Resolves when the voice may continue; undefined while it may. */
  let held: PromiseWithResolvers<void> | undefined
  let current: Speech | undefined
  let recent = ''
  /** When one sentence fails, the rest of the text is dropped: it would fail too. */
  let failed: string | null = null

  const tell = () => {
    for (const listener of listeners) listener()
  }

  function prepare(entry: Queued, signal: AbortSignal): Promise<Speech> {
    entry.prepared ??= needs.voice().then((voice) => voice.prepare(entry.text, signal))
    entry.prepared.then(
      () => {
        entry.isReady = true
      },
      // Rejects for callers that wait. After a cut there are none.
      () => undefined,
    )
    return entry.prepared
  }

  /** The first sentence, and after it the second: side by side, the second could be ready first. */
  function prepareNext(signal: AbortSignal): void {
    const [first] = queue
    if (!first) return
    void prepare(first, signal).then(
      () => {
        const [now, second] = queue
        if (!signal.aborted && now === first && second) void prepare(second, signal)
      },
      () => undefined,
    )
  }

  function reset(): void {
    queue = []
    isRunning = false
    isSounding = false
    current = undefined
    held?.resolve()
    held = undefined
    stopping.abort()
    stopping = new AbortController()
  }

  async function run({ signal }: AbortController): Promise<void> {
    try {
      for (let entry = queue[0]; entry; entry = queue[0]) {
        prepareNext(signal)
        // Between two sentences that are ready it does not fall silent.
        if (!entry.isReady && isSounding) {
          isSounding = false
          tell()
        }
        const sound = await prepare(entry, signal)
        await held?.promise
        if (signal.aborted) return
        recent = `${recent} ${entry.text}`.slice(-recentLength)
        current = sound
        await sound.play(signal, () => {
          if (signal.aborted || held) return
          isSounding = true
          tell()
        })
        if (signal.aborted) return
        current = undefined
        queue.shift()
      }
      isRunning = false
      isSounding = false
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
      const pieces = queue.length === 0 ? splitOpening(text) : [text]
      queue.push(...pieces.map((piece) => ({ text: piece, owner })))
      prepareNext(stopping.signal)
      if (!isRunning) {
        isRunning = true
        void run(stopping)
      }
      tell()
    },
    cut() {
      failed = null
      held?.resolve()
      held = undefined
      if (!isRunning) return
      reset()
      tell()
    },
    hold() {
      if (held || !isRunning) return
      held = Promise.withResolvers()
      isSounding = false
      current?.pause()
      tell()
    },
    resume() {
      if (!held) return
      held.resolve()
      held = undefined
      if (current) {
        isSounding = true
        current.resume()
      }
      tell()
    },
    state: () => (!isRunning ? 'silent' : held ? 'held' : isSounding ? 'sounding' : 'preparing'),
    owner: () => queue[0]?.owner ?? null,
    sentence: () => queue[0]?.text ?? '',
    recent: () => recent,
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** The first sound comes as soon as this much of a text is made. */
const maxOpening = 60
const minPiece = 12

/** A long first sentence in two, where a speaker pauses. */
export function splitOpening(text: string): string[] {
  if (text.length <= maxOpening) return [text]
  for (const { index } of text.matchAll(/[,;:–—](?=\s)/g)) {
    const end = index + 1
    if (end > maxOpening * 2) break
    if (end >= minPiece && text.length - end >= minPiece) return [text.slice(0, end), text.slice(end).trim()]
  }
  return [text]
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
        pause: () => speechSynthesis.pause(),
        resume: () => speechSynthesis.resume(),
        play: (signal, onSound) =>
          new Promise((resolve, reject) => {
            const utterance = new SpeechSynthesisUtterance(text)
            utterance.voice = voice
            utterance.lang = voice.lang
            utterance.rate = rate()
            const cut = () => {
              // A paused voice would keep the rest of its queue.
              speechSynthesis.resume()
              speechSynthesis.cancel()
              resolve()
            }
            if (signal.aborted) return resolve()
            signal.addEventListener('abort', cut, { once: true })
            utterance.onstart = onSound
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
export function createDaemonVoice(options: {
  name: string | null
  /** Of the conversation, for texts that are too short to show theirs. */
  language: string
  rate: () => number
  /** Another voice had to be used. */
  onNotice(notice: string): void
}): SpeakingVoice {
  const { name, language, rate, onNotice } = options
  return {
    async prepare(text, signal) {
      const response = await callRaw('voice.speak', { text, voice: name ?? undefined, language }, { signal })
      const notice = response.headers.get('x-voice-notice')
      if (notice) onNotice(decodeURIComponent(notice))
      return createSound(await response.blob(), rate())
    },
  }
}

function createSound(sound: Blob, rate: number): Speech {
  const audio = new Audio()
  let isPaused = false
  return {
    pause() {
      isPaused = true
      audio.pause()
    },
    resume() {
      isPaused = false
      void audio.play().catch(() => undefined)
    },
    async play(signal, onSound) {
      const address = URL.createObjectURL(sound)
      audio.src = address
      audio.playbackRate = rate
      try {
        await new Promise<void>((resolve, reject) => {
          if (signal.aborted) return resolve()
          signal.addEventListener('abort', () => resolve(), { once: true })
          audio.onplaying = onSound
          audio.onended = () => resolve()
          audio.onerror = () => reject(new Error(t.voice.browserCouldPlayAudio))
          // A pause before the beginning rejects as well.
          audio.play().catch((error: unknown) => !isPaused && reject(error))
        })
      } finally {
        audio.pause()
        URL.revokeObjectURL(address)
      }
    },
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
