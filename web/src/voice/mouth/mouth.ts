/** Says texts aloud. `prepare` may take time, as where a server makes the sound; `play` ends with the sound or with the signal. */
export interface SpeakingVoice {
  prepare(text: string, signal: AbortSignal): Promise<{ play(signal: AbortSignal): Promise<void> }>
}

export interface Mouth {
  /** Behind what is being said; `owner` names what it belongs to. */
  say(text: string, owner: string): void
  /** Silent at once; what was still to be said is forgotten. */
  cut(): void
  /** Whose words are being said or about to be; null where it is silent. */
  owner(): string | null
  /** What was said last, newest at the end: ears that hear it hear an echo. */
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

/** The one mouth of the page: whoever speaks, speaks after the other. */
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
  /** Where one sentence could not be said, the next of the same text would fail as well, and be told as well. */
  let failed: string | null = null

  const tell = () => {
    for (const listener of listeners) listener()
  }

  function prepareNext(signal: AbortSignal): void {
    for (const entry of queue.slice(0, preparedAtOnce)) {
      entry.prepared ??= needs.voice().then((voice) => voice.prepare(entry.text, signal))
      // Whoever waits for it is told; where it was cut, nobody waits.
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
